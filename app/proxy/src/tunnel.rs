//! Connections that have changed their protocol, WebSocket above all: from the 101
//! on, bytes pass both ways, and each way ends by itself.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::{Open, Opener};

/// Opens tunnels, and ends them when ordered to.
#[derive(Clone, Debug)]
pub(crate) struct Tunnels {
    idle: Duration,
    opener: Opener,
    cut: CancellationToken,
    tasks: TaskTracker,
}

/// One end of a tunnel, which notes when a byte came in.
struct End {
    io: TokioIo<Upgraded>,
    last: Arc<Mutex<Instant>>,
}

impl Tunnels {
    pub(crate) fn new(
        idle: Duration,
        opener: Opener,
        cut: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        Self { idle, opener, cut, tasks }
    }

    /// Passes bytes once both have switched.
    pub(crate) fn open(&self, client: OnUpgrade, service: OnUpgrade) {
        let open = self.opener.open();
        self.tasks.spawn(self.clone().run(client, service, open));
    }

    async fn run(self, client: OnUpgrade, service: OnUpgrade, open: Open) {
        let _open = open;
        tokio::select! {
            ended = carry(client, service, self.idle) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a tunnel has broken off");
                }
            }
            () = self.cut.cancelled() => {}
        }
    }
}

async fn carry(client: OnUpgrade, service: OnUpgrade, idle: Duration) -> io::Result<()> {
    let both = futures::future::try_join(client, service).await;
    let (client, service) = both.map_err(io::Error::other)?;
    let last = Arc::new(Mutex::new(Instant::now()));
    let (mut client, mut service) = (End::new(client, &last), End::new(service, &last));
    tokio::select! {
        ended = tokio::io::copy_bidirectional(&mut client, &mut service) => ended.map(drop),
        () = quiet(&last, idle) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Ends once no byte came in for `idle`.
async fn quiet(last: &Mutex<Instant>, idle: Duration) {
    loop {
        let due = *last.lock() + idle;
        if due <= Instant::now() {
            return;
        }
        tokio::time::sleep_until(due).await;
    }
}

// === impl End ===

impl End {
    fn new(io: Upgraded, last: &Arc<Mutex<Instant>>) -> Self {
        Self { io: TokioIo::new(io), last: last.clone() }
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        *self.last.lock() = Instant::now();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
