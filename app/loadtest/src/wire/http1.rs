//! HTTP/1.1: a connection carries one request at a time, so requests wait for one.
//! They do so in order, and the waiting counts, as it does in a service's own pool.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::dial::Dialer;
use super::{Answer, Broken, read};

type Sender = SendRequest<Full<Bytes>>;

/// A fixed number of connections.
#[derive(Debug)]
pub(crate) struct Pool {
    dialer: Dialer,
    places: Semaphore,
    idle: Mutex<Vec<Sender>>,
}

impl Pool {
    pub(super) async fn connect(dialer: Dialer, count: usize) -> Result<Self, Broken> {
        let mut opening = JoinSet::new();
        for _ in 0..count {
            let dialer = dialer.clone();
            opening.spawn(async move { open(&dialer).await });
        }
        let idle: Result<Vec<Sender>, Broken> = opening.join_all().await.into_iter().collect();
        Ok(Self { dialer, places: Semaphore::new(count), idle: Mutex::new(idle?) })
    }

    pub(super) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, Broken> {
        let _place = self.places.acquire().await.map_err(|_| closed())?;
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
