//! Opens connections to the service, wherever a request's URI points.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::greeting::Greeting;
use crate::causes;
use crate::metrics::{Open, Opener};
use crate::tapped::{Tap, Tapped};

/// A peer that vanished without a word is noticed by the kernel: after this long
/// without traffic, then [`PROBES`] times [`PROBE_EVERY`]. Pings of HTTP/2 would
/// do it sooner, but gRPC servers close connections that ping more often than
/// every five minutes.
const QUIET: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);
const PROBES: u32 = 3;

/// See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Dial {
    tcp: HttpConnector,
    within: Duration,
    opener: Opener,
}

/// An open connection, which counts as such.
pub(crate) type Wire = Tapped<Listener>;

/// Has a greeting read along, if one is awaited.
#[derive(Debug)]
pub(crate) struct Listener {
    greeting: Option<Greeting>,
    _open: Open,
}

/// Why none could be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no connection within the time allowed")]
    Timeout,
    #[error("no connection")]
    Tcp(#[source] Box<dyn std::error::Error + Send + Sync>),
}

// === impl Dial ===

impl Dial {
    pub(crate) fn new(within: Duration, opener: Opener) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(QUIET));
        tcp.set_keepalive_interval(Some(PROBE_EVERY));
        tcp.set_keepalive_retries(Some(PROBES));
        Self { tcp, within, opener }
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<Wire>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.tcp.poll_ready(cx).map_err(|error| Error::Tcp(error.into()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let opening = tokio::time::timeout(self.within, self.tcp.call(to));
        let opener = self.opener.clone();
        Box::pin(async move {
            let opened = opening.await.map_err(|_| Error::Timeout)?;
            let stream = opened.map_err(|error| Error::Tcp(error.into()))?.into_inner();
            let listener = Listener { greeting: None, _open: opener.open() };
            Ok(TokioIo::new(Tapped::new(stream, listener)))
        })
    }
}

impl Error {
    /// The kind of the system's own error, if it was one.
    pub(super) fn kind(&self) -> Option<io::ErrorKind> {
        causes::first::<io::Error>(self).map(io::Error::kind)
    }
}

// === impl Listener ===

impl Listener {
    /// Has `greeting` read along.
    pub(super) fn listen(&mut self, greeting: Greeting) {
        self.greeting = Some(greeting);
    }
}

impl Tap for Listener {
    fn read(&mut self, bytes: &[u8]) {
        if self.greeting.as_mut().is_some_and(|greeting| greeting.read(bytes)) {
            self.greeting = None;
        }
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
