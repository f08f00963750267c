//! Takes connections and serves a stack of tower services on them, in whichever
//! version of HTTP the client speaks.

mod activity;
mod connection;
mod guest;
mod pause;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use prometheus_client::metrics::counter::Counter;
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::drain::Drain;
use crate::metrics::Metrics;
use crate::settings::Settings;
use connection::Connections;
use pause::Pause;

/// Any error of a stack.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What can be served: [`Forward`](crate::Forward), or layers around it.
pub trait Stack:
    Service<
        Request<Incoming>,
        Response = Response<Self::Answer>,
        Error: Into<BoxError>,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static
{
    /// The body of answers.
    type Answer: Body<Data: Send, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> Stack for S
where
    S: Service<
            Request<Incoming>,
            Response = Response<B>,
            Error: Into<BoxError>,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    type Answer = B;
}

/// The accept loop and what it needs.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: TcpListener,
    connections: Arc<Connections>,
    drain: Drain,
    failures: Counter,
}

impl Acceptor {
    pub(crate) fn new(
        listener: TcpListener,
        settings: &Settings,
        metrics: &Metrics,
        drain: Drain,
    ) -> Self {
        let connections = Connections::new(settings, metrics.connections.clone(), drain.clone());
        Self {
            listener,
            connections: Arc::new(connections),
            drain,
            failures: metrics.accept_failures.clone(),
        }
    }

    /// Serves `stack` until the drain begins; connections go on by themselves.
    pub(crate) async fn run<S: Stack>(self, stack: S) {
        let mut pause = Pause::default();
        loop {
            let taken = tokio::select! {
                () = self.drain.begun() => return,
                taken = self.listener.accept() => taken,
            };
            match taken {
                Ok((stream, peer)) => {
                    pause.is_over();
                    self.serve(stream, peer, stack.clone());
                }
                Err(error) if is_of_one(&error) => {}
                Err(error) => {
                    self.failures.inc();
                    pause.after(&error).await;
                }
            }
        }
    }

    fn serve<S: Stack>(&self, stream: TcpStream, peer: SocketAddr, stack: S) {
        let connections = self.connections.clone();
        self.drain.tasks().spawn(async move { connections.serve(stream, peer, stack).await });
    }
}

/// Whether an error is about a connection that was gone before it was taken.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
