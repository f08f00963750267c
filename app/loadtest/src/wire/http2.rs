//! HTTP/2: many requests on each connection, dealt out in turn. Requests above the
//! server's limit of concurrent streams wait in the connection, and that counts.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::dial::Dialer;
use super::{Answer, Broken, PATIENCE, read};

type Sender = SendRequest<Full<Bytes>>;

/// The connection's start (RFC 9113, section 3.4) and an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Type of a SETTINGS frame, and where a frame's type stands.
const SETTINGS: (usize, u8) = (3, 4);
/// Large enough that small answers never wait for a window.
const CONNECTION_WINDOW: u32 = 16 << 20;
const STREAM_WINDOW: u32 = 1 << 20;

/// A fixed number of connections.
#[derive(Debug)]
pub(crate) struct Set {
    dialer: Dialer,
    slots: Vec<Slot>,
    next: AtomicUsize,
}

#[derive(Debug)]
struct Slot {
    sender: Mutex<Sender>,
    /// Held by whoever replaces a dead connection.
    opening: tokio::sync::Mutex<()>,
}

impl Set {
    pub(super) async fn connect(dialer: Dialer, count: usize) -> Result<Self, Broken> {
        probe(&dialer).await?;
        let mut opening = JoinSet::new();
        for _ in 0..count {
            let dialer = dialer.clone();
            opening.spawn(async move { open(&dialer).await });
        }
        let senders: Result<Vec<Sender>, Broken> = opening.join_all().await.into_iter().collect();
        let slot = |sender| Slot { sender: Mutex::new(sender), opening: Default::default() };
        let slots = senders?.into_iter().map(slot).collect();
        Ok(Self { dialer, slots, next: AtomicUsize::new(0) })
    }

    pub(super) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, Broken> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.slots.len();
        let mut sender = self.slots[turn].sender(&self.dialer).await?;
        let sent = sender.send_request(request).await;
        read(sent.map_err(|error| Broken::exchange(&error))?).await
    }
}

impl Slot {
    /// The slot's connection, a new one if it died.
    async fn sender(&self, dialer: &Dialer) -> Result<Sender, Broken> {
        if let Some(sender) = self.open_sender() {
            return Ok(sender);
        }
        let _opening = self.opening.lock().await;
        if let Some(sender) = self.open_sender() {
            return Ok(sender);
        }
        let sender = open(dialer).await?;
        *self.sender.lock() = sender.clone();
        Ok(sender)
    }

    fn open_sender(&self) -> Option<Sender> {
        let sender = self.sender.lock();
        (!sender.is_closed()).then(|| sender.clone())
    }
}

async fn open(dialer: &Dialer) -> Result<Sender, Broken> {
    let stream = dialer.dial().await?;
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .handshake(stream)
        .await
        .map_err(|error| Broken::exchange(&error))?;
    // Its end shows at the sender.
    tokio::spawn(connection);
    Ok(sender)
}

/// Without TLS nothing is negotiated: asks for the first frame of a server that
/// speaks HTTP/2, so that one that does not is told apart before the test.
async fn probe(dialer: &Dialer) -> Result<(), Broken> {
    let Some(mut tcp) = dialer.probe().await? else { return Ok(()) };
    let mut frame = [0; 9];
    let exchange = async {
        tcp.write_all(PREFACE).await?;
        tcp.read_exact(&mut frame).await
    };
    let (position, settings) = SETTINGS;
    match timeout(PATIENCE, exchange).await {
        Ok(Ok(_)) if frame[position] == settings => Ok(()),
        _ => Err(Broken {
            why: "it does not speak HTTP/2".into(),
            advice: "leave --http2 away, or switch HTTP/2 (h2c) on there",
        }),
    }
}
