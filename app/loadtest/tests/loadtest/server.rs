//! A small HTTP/1.1 and h2c server whose answers a test chooses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

pub(crate) type Answer = Response<Full<Bytes>>;
type Handler =
    Arc<dyn Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync>;

/// Stops when it is dropped, and its connections with it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start<F>(
        handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0", None, handler).await
    }

    pub(crate) async fn start_at<F>(
        address: &str,
        tls: Option<TlsAcceptor>,
        handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let handler: Handler = Arc::new(move |request| Box::pin(handler(request)));
        let task = tokio::spawn(accept(listener, tls, handler));
        Self { address, task }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, handler: Handler) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        let (tls, handler) = (tls.clone(), handler.clone());
        connections.spawn(async move {
            match tls {
                None => serve(tcp, handler).await,
                // A client that hangs up during the handshake is no fault of the server.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(tcp).await {
                        serve(stream, handler).await;
                    }
                }
            }
        });
    }
}

async fn serve(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, handler: Handler) {
    let service = service_fn(move |request| {
        let answering = handler(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let builder = Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(io), service).await;
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)]) -> Answer {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    answer.body(Full::from("answer")).unwrap()
}

/// The value of a request's header, or nothing.
pub(crate) fn header<B>(request: &Request<B>, name: &str) -> String {
    request.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}
