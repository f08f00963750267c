//! Servers and clients on loopback.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use plimsoll_qalm::QalmLayer;
use plimsoll_qalm::shedding::policy::Policy;
use plimsoll_qalm::shedding::settings::Auto;
use tokio::net::{TcpListener, TcpStream};

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

/// Waits until something holds that no event tells of.
pub(crate) async fn until(what: impl Fn() -> bool) {
    in_time(async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// A layer all of whose queues let so many handlers run, and so many wait.
pub(crate) fn layer_with(limit: u32, max_queue: u32) -> QalmLayer {
    QalmLayer::builder().build_with(&policy_with(limit, max_queue)).expect("a good policy")
}

pub(crate) fn policy_with(limit: u32, max_queue: u32) -> Policy {
    let mut policy = Policy::default();
    policy.queue.concurrency = Some(Auto::Fixed(limit));
    policy.queue.max_queue = Some(max_queue);
    policy
}

/// Handlers that run, over all queues.
pub(crate) fn inflight(layer: &QalmLayer) -> u32 {
    layer.gate().queues().iter().map(|queue| queue.view.inflight).sum()
}

/// Requests that wait, over all queues.
pub(crate) fn waiting(layer: &QalmLayer) -> u32 {
    layer.gate().queues().iter().flat_map(|queue| queue.view.waiting).sum()
}

/// A server, and how many connections it has had.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Serves HTTP/1.1 and HTTP/2, upgrades included.
pub(crate) async fn serve(router: Router) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let server = Server { address, connections: Arc::clone(&connections) };
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { break };
            connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve_one(stream, router.clone()));
        }
    });
    server
}

async fn serve_one(stream: TcpStream, router: Router) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http2().initial_connection_window_size(16 << 20).max_concurrent_streams(1000);
    let service = TowerToHyperService::new(router);
    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}

pub(crate) type Sender1 = http1::SendRequest<Full<Bytes>>;
pub(crate) type Sender2 = http2::SendRequest<Full<Bytes>>;

/// An HTTP/1.1 connection; dropping the sender closes it.
pub(crate) async fn connect1(address: SocketAddr) -> Sender1 {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    sender
}

pub(crate) async fn connect2(address: SocketAddr) -> Sender2 {
    let stream = TcpStream::connect(address).await.unwrap();
    let io = TokioIo::new(stream);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub(crate) fn request(method: &str, path: &str) -> Request<Full<Bytes>> {
    with_body(method, path, "")
}

pub(crate) fn with_body(method: &str, path: &str, body: &'static str) -> Request<Full<Bytes>> {
    let uri = format!("http://localhost{path}");
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    let builder = Request::builder().method(method).uri(uri).header("host", "localhost");
    builder.body(body).unwrap()
}

/// The whole answer as text.
pub(crate) async fn text(response: Response<Incoming>) -> String {
    let body = in_time(response.into_body().collect()).await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

pub(crate) fn header<'a, B>(response: &'a Response<B>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// A body that gives one piece and then neither another nor an end.
pub(crate) fn endless(first: &'static str) -> Body {
    let pieces = futures::stream::iter([Ok::<_, Infallible>(Bytes::from_static(first.as_bytes()))]);
    Body::from_stream(futures::StreamExt::chain(pieces, futures::stream::pending()))
}
