//! One connection of a Go client.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use prost::Message;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::reply::Reply;
use super::stream::GoStream;

/// As grpc-go opens them: large enough for the largest message.
const WINDOW: u32 = 128 * 1024 * 1024;

/// What yarpc writes in the head of a request.
#[derive(Clone, Debug)]
pub struct Shape {
    /// `application/grpc` up to yarpc 1.70, `application/grpc+proto` later.
    pub content_type: &'static str,
    /// `rpc-service`.
    pub service: Option<&'static str>,
    /// `grpc-timeout`; watches have none.
    pub timeout: Option<&'static str>,
    /// Others, in order.
    pub more: Vec<(&'static str, &'static str)>,
}

/// One HTTP/2 connection and the way a client uses it.
#[derive(Clone, Debug)]
pub struct GoClient {
    sender: SendRequest<Bytes>,
    shape: Shape,
    _connection: std::sync::Arc<AbortOnDropHandle<()>>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            content_type: "application/grpc",
            service: Some("shard-distributor"),
            timeout: Some("9999500u"),
            more: vec![
                ("rpc-caller", "shard-distributor-canary"),
                ("rpc-encoding", "proto"),
                ("user-agent", "yarpc-go/1.70.3 grpc-go/1.59.0"),
            ],
        }
    }
}

impl GoClient {
    /// Connects in plain text with prior knowledge, as yarpc does.
    ///
    /// # Errors
    /// There is nobody, or it does not speak HTTP/2.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let socket = TcpStream::connect(address).await.context("no connection")?;
        socket.set_nodelay(true)?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let (sender, connection) = builder.handshake(socket).await.context("no HTTP/2")?;
        let connection = tokio::spawn(async move {
            // How it ends is seen by the streams on it.
            let _ = connection.await;
        });
        let _connection = std::sync::Arc::new(AbortOnDropHandle::new(connection));
        Ok(Self { sender, shape: Shape::default(), _connection })
    }

    /// The same connection, other heads.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Shape)) -> Self {
        let mut other = self.clone();
        change(&mut other.shape);
        other
    }

    /// A whole unary call.
    ///
    /// # Errors
    /// The transport broke; an error status is a reply.
    pub async fn call(&self, path: &str, request: &impl Message) -> Result<Reply> {
        self.call_bytes(path, &request.encode_to_vec()).await
    }

    /// The same with a message written by hand.
    ///
    /// # Errors
    /// The transport broke; an error status is a reply.
    pub async fn call_bytes(&self, path: &str, message: &[u8]) -> Result<Reply> {
        let (response, mut body) = self.begin(path).await?;
        let sent = send(&mut body, message, true);
        let answered = async {
            let response = response.await.context("no answer")?;
            Reply::read(response).await
        };
        let (sent, reply) = tokio::join!(sent, answered);
        // A server may refuse before it has read everything: the answer counts.
        reply.or_else(|error| sent.and(Err(error)))
    }

    /// Opens a stream as yarpc opens a watch: one message, and the request side
    /// stays open, unless it is a client that ends it.
    ///
    /// # Errors
    /// The transport broke.
    pub async fn open(
        &self,
        path: &str,
        request: &impl Message,
        half_close: bool,
    ) -> Result<GoStream> {
        let watch = self.with(|shape| shape.timeout = None);
        let (response, mut body) = watch.begin(path).await?;
        send(&mut body, &request.encode_to_vec(), half_close).await?;
        Ok(GoStream::new(watch, response, body))
    }

    async fn begin(&self, path: &str) -> Result<(h2::client::ResponseFuture, SendStream<Bytes>)> {
        let mut request = Request::post(format!("http://plimsoll.test{path}")).body(())?;
        *request.headers_mut() = self.shape.headers()?;
        let mut sender = self.sender.clone().ready().await.context("the connection is closed")?;
        sender.send_request(request, false).context("the request was not sent")
    }
}

impl Shape {
    fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", self.content_type.parse()?);
        headers.insert("te", "trailers".parse()?);
        let timeout = self.timeout.map(|timeout| ("grpc-timeout", timeout));
        let service = self.service.map(|service| ("rpc-service", service));
        for (name, value) in timeout.into_iter().chain(service).chain(self.more.iter().copied()) {
            headers.append(name, value.parse()?);
        }
        Ok(headers)
    }
}

/// A message with its five bytes in front, as far as the peer lets it through.
async fn send(body: &mut SendStream<Bytes>, message: &[u8], end: bool) -> Result<()> {
    let mut rest = framed(message);
    while !rest.is_empty() {
        body.reserve_capacity(rest.len());
        let capacity = std::future::poll_fn(|cx| body.poll_capacity(cx)).await;
        let capacity = capacity.context("the stream is closed")?.context("the stream broke")?;
        let part = rest.split_to(capacity.min(rest.len()));
        let last = end && rest.is_empty();
        body.send_data(part, last).context("the message was not sent")?;
    }
    Ok(())
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(message.len() + 5);
    frame.push(0);
    frame.extend_from_slice(&(message.len() as u32).to_be_bytes());
    frame.extend_from_slice(message);
    frame.into()
}

pub(super) type Head = Response<RecvStream>;
