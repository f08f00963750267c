//! HTTP/2 connections to the service. Requests share one until its streams are
//! used up, then another is opened: the fullest one that has room is taken, so
//! that those which are no longer needed fall idle and are closed.
//!
//! hyper-util's pool keeps one connection a host and takes the host from the URI,
//! which in HTTP/2 is also `:authority`: with it, the number of connections would
//! be in the hands of whoever names hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, Connection, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_service::Service;

use super::dial::{self, Dial, Wire};
use super::greeting::{Greeting, Said};
use crate::body::Upload;
use crate::settings::Settings;
use crate::window;

/// How often a request that certainly was not sent is tried, the first included.
const ATTEMPTS: usize = 3;

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Lanes {
    dial: Dial,
    to: Uri,
    within: Duration,
    streams: usize,
    most: usize,
    idle: Duration,
    open: Mutex<Vec<Arc<Lane>>>,
    /// Held while a connection is being opened, so that a thousand requests that
    /// come at once open as many as they need and not a thousand.
    opening: tokio::sync::Mutex<Option<Attempt>>,
}

/// The last connection that could not be opened.
#[derive(Debug)]
struct Attempt {
    ended: Instant,
    error: Arc<Error>,
}

/// One connection.
#[derive(Debug)]
struct Lane {
    sender: SendRequest<Upload>,
    /// Streams open.
    taken: AtomicUsize,
    /// Streams that the service allows.
    allowed: Arc<AtomicUsize>,
    last_used: Mutex<Instant>,
}

/// One stream of a connection, until dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    lane: Arc<Lane>,
    is_first: bool,
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot connect")]
    Dial(#[from] dial::Error),
    #[error("cannot speak HTTP/2")]
    Http(#[from] hyper::Error),
    #[error("the service hung up on an HTTP/2 greeting")]
    HungUp,
    #[error("the service answered an HTTP/2 greeting with something else")]
    NotHttp2,
    #[error("the connection that this request waited for cannot be opened")]
    Shared(#[source] Arc<Error>),
}

// === impl Lanes ===

impl Lanes {
    pub(super) fn new(settings: &Settings, dial: Dial) -> Self {
        Self {
            dial,
            to: settings.upstream.dialled(),
            within: settings.timeouts.connect,
            streams: settings.limits.upstream_streams,
            most: settings.limits.upstream_connections,
            idle: settings.timeouts.upstream_idle,
            open: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    pub(super) async fn send(
        &self,
        mut request: Request<Upload>,
    ) -> Result<(Response<Incoming>, Seat), Error> {
        let mut attempt = 1;
        loop {
            let seat = self.seat().await?;
            let mut failed = match seat.lane.sender.clone().try_send_request(request).await {
                Ok(answer) => return Ok((answer, seat)),
                Err(failed) => failed,
            };
            let unsent = failed.take_message().filter(|_| attempt < ATTEMPTS && !seat.is_first);
            request = unsent.ok_or_else(|| failed.into_error())?;
            attempt += 1;
        }
    }

    /// A free stream; on the least occupied connection if there is none and no
    /// further connection can be had.
    async fn seat(&self) -> Result<Seat, Error> {
        let asked = Instant::now();
        if let Some(seat) = self.free() {
            return Ok(seat);
        }
        let mut last = self.opening.lock().await;
        if let Some(seat) = self.free() {
            return Ok(seat);
        }
        if let Some(seat) = self.least().filter(|_| self.open.lock().len() >= self.most) {
            return Ok(seat);
        }
        // Whoever waited while it failed does not wait for the next failure.
        let failed = last.as_ref().filter(|attempt| attempt.ended >= asked);
        let error = match failed {
            Some(attempt) => attempt.error.clone(),
            None => match self.connect().await {
                Ok(seat) => return Ok(seat),
                Err(error) => Arc::new(error),
            },
        };
        *last = Some(Attempt { ended: Instant::now(), error: error.clone() });
        self.least().ok_or(Error::Shared(error))
    }

    fn free(&self) -> Option<Seat> {
        let mut open = self.open.lock();
        open.retain(|lane| lane.is_wanted(self.idle));
        let room = |lane: &&Arc<Lane>| lane.taken() < self.streams.min(lane.allowed());
        open.iter().filter(room).max_by_key(|lane| lane.taken()).map(Seat::take)
    }

    fn least(&self) -> Option<Seat> {
        self.open.lock().iter().min_by_key(|lane| lane.taken()).map(Seat::take)
    }

    async fn connect(&self) -> Result<Seat, Error> {
        let open = tokio::time::timeout(self.within, self.open_lane());
        let lane = open.await.map_err(|_| dial::Error::Timeout)??;
        self.open.lock().push(lane.clone());
        let mut seat = Seat::take(&lane);
        seat.is_first = true;
        Ok(seat)
    }

    async fn open_lane(&self) -> Result<Arc<Lane>, Error> {
        let mut wire = self.dial.clone().call(self.to.clone()).await?;
        let (greeting, mut told) = Greeting::new();
        wire.inner_mut().tap().listen(greeting);
        let (sender, connection) = handshake(wire).await?;
        let allowed = Arc::new(AtomicUsize::new(0));
        tokio::spawn(drive(connection, allowed.clone()));
        let said = told.wait_for(|said| *said != Said::Nothing).await;
        match said.map_err(|_| Error::HungUp).map(|said| *said)? {
            Said::Allows(streams) => allowed.store(streams, Ordering::Relaxed),
            Said::Nothing | Said::Otherwise => return Err(Error::NotHttp2),
        }
        let (taken, last_used) = (AtomicUsize::new(0), Mutex::new(Instant::now()));
        Ok(Arc::new(Lane { sender, taken, allowed, last_used }))
    }
}

async fn handshake(
    wire: TokioIo<Wire>,
) -> hyper::Result<(SendRequest<Upload>, Connection<TokioIo<Wire>, Upload, TokioExecutor>)> {
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(window::STREAM)
        .initial_connection_window_size(window::CONNECTION)
        .max_header_list_size(window::ANSWER_HEAD)
        // Nothing before the library has read the greeting too.
        .initial_max_send_streams(0)
        .handshake(wire)
        .await
}

/// Runs a connection to its end, and notes what the service allows on it.
async fn drive(
    mut connection: Connection<TokioIo<Wire>, Upload, TokioExecutor>,
    allowed: Arc<AtomicUsize>,
) {
    let done = std::future::poll_fn(|cx| {
        let done = std::pin::Pin::new(&mut connection).poll(cx);
        // Zero until the greeting was read, and should it ever be the service's wish.
        match connection.current_max_send_streams() {
            0 => {}
            streams => allowed.store(streams, Ordering::Relaxed),
        }
        done
    });
    if let Err(error) = done.await {
        tracing::debug!(%error, "an HTTP/2 connection to the service has ended");
    }
}

// === impl Lane ===

impl Lane {
    fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn allowed(&self) -> usize {
        self.allowed.load(Ordering::Relaxed)
    }

    fn is_wanted(&self, idle: Duration) -> bool {
        !self.sender.is_closed() && (self.taken() > 0 || self.last_used.lock().elapsed() < idle)
    }
}

// === impl Seat ===

impl Seat {
    fn take(lane: &Arc<Lane>) -> Self {
        lane.taken.fetch_add(1, Ordering::Relaxed);
        Self { lane: lane.clone(), is_first: false }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *self.lane.last_used.lock() = Instant::now();
        self.lane.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
