//! HTTP/1.1: a connection carries one request at a time, so that every request under
//! way needs one of its own. They are opened as they are needed, up to a bound. At
//! the bound requests wait in order, and the waiting counts, as it does in a
//! service's own pool; it is measured too, for the service never sees it.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::dial::Dialer;
use super::{Answer, Broken, read};
use crate::latency::{Latency, Percentiles};

type Sender = SendRequest<Full<Bytes>>;

/// A bounded number of connections.
#[derive(Debug)]
pub(crate) struct Pool {
    dialer: Dialer,
    places: Semaphore,
    idle: Mutex<Vec<Sender>>,
    waits: Mutex<Latency>,
}

/// Measures how long it lives, however it ends.
struct Waiting<'a> {
    since: Instant,
    waits: &'a Mutex<Latency>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waits.lock().record(self.since.elapsed());
    }
}

impl Pool {
    /// Opens one connection, to see that somebody answers.
    pub(super) async fn connect(dialer: Dialer, most: usize) -> Result<Self, Broken> {
        let idle = Mutex::new(vec![open(&dialer).await?]);
        Ok(Self { dialer, places: Semaphore::new(most), idle, waits: Mutex::default() })
    }

    /// How long requests waited while all connections were busy.
    pub(super) fn waits(&self) -> Option<Percentiles> {
        self.waits.lock().percentiles()
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>, Broken> {
        let _waiting = Waiting { since: Instant::now(), waits: &self.waits };
        self.places.acquire().await.map_err(|_| closed())
    }

    pub(super) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, Broken> {
        let _place = self.place().await?;
        let mut sender = self.sender().await?;
        let response = match sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut unsent) => match unsent.take_message() {
                None => return Err(Broken::exchange(unsent.error())),
                Some(request) => {
                    sender = open(&self.dialer).await?;
                    let sent = sender.send_request(request).await;
                    sent.map_err(|error| Broken::exchange(&error))?
                }
            },
        };
        let answer = read(response).await?;
        self.idle.lock().push(sender);
        Ok(answer)
    }

    /// A connection that was open a moment ago.
    async fn sender(&self) -> Result<Sender, Broken> {
        while let Some(mut sender) = self.take() {
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
        open(&self.dialer).await
    }

    fn take(&self) -> Option<Sender> {
        self.idle.lock().pop()
    }
}

async fn open(dialer: &Dialer) -> Result<Sender, Broken> {
    let stream = dialer.dial().await?;
    let (sender, connection) =
        http1::handshake(stream).await.map_err(|error| Broken::exchange(&error))?;
    // Its end shows at the sender.
    tokio::spawn(connection);
    Ok(sender)
}

fn closed() -> Broken {
    Broken { why: "the load test has ended".into(), advice: "run it again" }
}
