//! Services, clients and proxies for the tests.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder as Http2, SendRequest};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use plimsoll_proxy::{Bound, Proxy, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Ends with the test that hangs rather than hang with it.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it takes too long")
}

pub(crate) fn full(text: impl Into<Bytes>) -> AnyBody {
    Full::new(text.into()).boxed_unsync()
}

// === services ===

/// A service that `handler` answers for.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    /// Connections that were ever taken.
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Service {
    pub(crate) async fn start<F, R>(handler: F) -> Self
    where
        F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<AnyBody>> + Send + 'static,
    {
        Self::with_streams(u32::MAX, handler).await
    }

    /// With so many streams on an HTTP/2 connection.
    pub(crate) async fn with_streams<F, R>(streams: u32, handler: F) -> Self
    where
        F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<AnyBody>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let taken = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                taken.fetch_add(1, Ordering::Relaxed);
                let handler = handler.clone();
                tokio::spawn(async move {
                    let answer = service_fn(move |request| {
                        let answer = handler(request);
                        async move { Ok::<_, Infallible>(answer.await) }
                    });
                    let mut builder = auto::Builder::new(TokioExecutor::new());
                    builder.http2().max_concurrent_streams(streams);
                    builder.http1().header_read_timeout(None);
                    let io = TokioIo::new(stream);
                    drop(builder.serve_connection_with_upgrades(io, answer).await);
                });
            }
        });
        Self { address, connections }
    }

    /// One that answers every request with its body.
    pub(crate) async fn echo() -> Self {
        Self::start(|request: Request<Incoming>| async {
            let body = request.into_body().collect().await;
            Response::new(full(body.map(|body| body.to_bytes()).unwrap_or_default()))
        })
        .await
    }

    /// An echo over HTTP/2 that says goodbye on every connection at its first request.
    pub(crate) async fn with_goaway() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let taken = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                taken.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(one_request(stream));
            }
        });
        Self { address, connections }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn one_request(stream: TcpStream) {
    let asked = Arc::new(tokio::sync::Notify::new());
    let tell = asked.clone();
    let echo = service_fn(move |request: Request<Incoming>| {
        tell.notify_one();
        async {
            let body = request.into_body().collect().await?.to_bytes();
            Ok::<_, hyper::Error>(Response::new(full(body)))
        }
    });
    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), echo));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = asked.notified() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

/// A service that takes one connection, reads one head and then says `answer`,
/// byte by byte as it is written here; what it read is the result.
pub(crate) async fn scripted(
    answer: &'static str,
) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let read = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_until(&mut stream, "\r\n\r\n").await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        // Closing with bytes unread would reset, and could overtake the answer.
        tokio::spawn(async move { drop(stream.read_to_end(&mut Vec::new()).await) });
        head
    });
    (address, read)
}

/// An address that nobody listens on.
pub(crate) async fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

// === proxies ===

/// A proxy in front of `upstream`, e.g. `http://127.0.0.1:80`.
pub(crate) async fn proxy(upstream: impl ToString) -> Proxy {
    proxy_with(upstream, |_| {}).await
}

pub(crate) async fn proxy_with(
    upstream: impl ToString,
    change: impl FnOnce(&mut Settings),
) -> Proxy {
    let target = upstream.to_string().parse().unwrap();
    let mut settings = Settings::new(([127, 0, 0, 1], 0).into(), target);
    settings.metrics = Some(([127, 0, 0, 1], 0).into());
    change(&mut settings);
    let bound = Bound::new(settings).await.unwrap();
    let forward = bound.forward();
    bound.serve(forward, None).unwrap()
}

/// The page at `path` of the proxy's other port.
pub(crate) async fn page(proxy: &Proxy, path: &str) -> String {
    let address = proxy.metrics.unwrap();
    say(address, &format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await
}

// === clients ===

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Writes `text` on a connection of its own and reads until it is closed.
pub(crate) async fn say(address: SocketAddr, text: &str) -> String {
    let mut stream = connect(address).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    read_to_end(&mut stream).await
}

pub(crate) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    // A reset ends it too, after what came before it.
    drop(soon(stream.read_to_end(&mut read)).await);
    String::from_utf8(read).unwrap()
}

/// Reads up to `end` and not beyond.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let byte = soon(stream.read_u8()).await;
        let so_far = || String::from_utf8_lossy(&read).into_owned();
        read.push(byte.unwrap_or_else(|error| panic!("{error} after {:?}", so_far())));
    }
    String::from_utf8(read).unwrap()
}

/// An HTTP/2 connection, and the task that ends with it.
pub(crate) async fn http2(
    address: SocketAddr,
) -> (SendRequest<AnyBody>, tokio::task::JoinHandle<hyper::Result<()>>) {
    let mut builder = Http2::new(TokioExecutor::new());
    builder.initial_connection_window_size(16 << 20).initial_stream_window_size(1 << 20);
    let io = TokioIo::new(connect(address).await);
    let (sender, connection) = builder.handshake(io).await.unwrap();
    (sender, tokio::spawn(connection))
}

/// A POST of `body` to `path` of shop.example.
pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<AnyBody> {
    let request = Request::post(format!("http://shop.example{path}"));
    request.body(full(body)).unwrap()
}

pub(crate) async fn text<B>(answer: Response<B>) -> String
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    let body = answer.into_body().collect().await.unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}
