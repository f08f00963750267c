//! One connection of a client, from its first byte to its last.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use super::Stack;
use super::activity::Activity;
use super::guest::Guest;
use crate::drain::Drain;
use crate::headers::Peer;
use crate::metrics::Opener;
use crate::settings::{Settings, Timeouts};
use crate::tapped::{Tap, Tapped};
use crate::window;

/// How often a quiet HTTP/2 client is asked whether it is still there, and how
/// long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(60);
const PONG_WITHIN: Duration = Duration::from_secs(20);
/// How long a client may keep a connection open that it was told to leave and
/// has no request on.
const FAREWELL: Duration = Duration::from_secs(1);

/// How connections are served.
#[derive(Debug)]
pub(super) struct Connections {
    builder: auto::Builder<TokioExecutor>,
    timeouts: Timeouts,
    opener: Opener,
    drain: Drain,
}

// === impl Connections ===

impl Connections {
    pub(super) fn new(settings: &Settings, opener: Opener, drain: Drain) -> Self {
        Self { builder: builder(settings), timeouts: settings.timeouts, opener, drain }
    }

    pub(super) async fn serve<S: Stack>(&self, stream: TcpStream, peer: SocketAddr, stack: S) {
        let _open = self.opener.open();
        // A client that is gone already shows when it is read from.
        drop(stream.set_nodelay(true));
        let activity = Arc::new(Activity::start());
        let guest = Guest::new(stack, Peer(peer), activity.clone());
        let io = TokioIo::new(Tapped::new(stream, activity.clone()));
        let service = TowerToHyperService::new(guest);
        let mut connection = pin!(self.builder.serve_connection_with_upgrades(io, service));
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = activity.expired(self.timeouts.header, self.timeouts.idle) => None,
            () = self.drain.begun() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = activity.expired(FAREWELL, FAREWELL) => Ok(()),
                    () = self.drain.aborted() => Ok(()),
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error, "a connection has broken off");
        }
    }
}

fn builder(settings: &Settings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let limits = &settings.limits;
    // Checked to fit, see `settings`.
    let head = u32::try_from(limits.head).unwrap_or(u32::MAX);
    builder
        .http1()
        .timer(TokioTimer::new())
        // `Activity` does it.
        .header_read_timeout(None)
        .max_buf_size(head as usize)
        .max_headers(limits.fields);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(window::STREAM)
        .initial_connection_window_size(window::CONNECTION)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(head)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN);
    builder
}

// === impl Activity ===

impl Tap for Arc<Activity> {
    fn read(&mut self, bytes: &[u8]) {
        Activity::read(self, bytes);
    }
}
