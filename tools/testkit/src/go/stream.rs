//! A stream of messages, read frame by frame.

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes, BytesMut};
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::HeaderMap;
use prost::Message;

use super::client::GoClient;

/// A stream that is open.
#[derive(Debug)]
pub struct GoStream {
    state: State,
    body: SendStream<Bytes>,
    /// A stream keeps its connection.
    _client: GoClient,
}

#[derive(Debug)]
enum State {
    /// No head yet.
    Asked(ResponseFuture),
    Open(Messages),
}

/// The messages of an answer.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) headers: HeaderMap,
    pub(super) status: u16,
    body: RecvStream,
    unread: BytesMut,
}

impl GoStream {
    pub(super) fn new(client: GoClient, response: ResponseFuture, body: SendStream<Bytes>) -> Self {
        Self { state: State::Asked(response), body, _client: client }
    }

    /// The head of the answer.
    ///
    /// # Errors
    /// The transport broke.
    pub async fn headers(&mut self) -> Result<HeaderMap> {
        Ok(self.opened().await?.headers.clone())
    }

    /// The next message as it came; `None` at the end.
    ///
    /// # Errors
    /// The transport broke.
    pub async fn next_bytes(&mut self) -> Result<Option<Bytes>> {
        self.opened().await?.next().await
    }

    /// The next message.
    ///
    /// # Errors
    /// The transport broke, the stream ended, or it is another message.
    pub async fn next<M: Message + Default>(&mut self) -> Result<M> {
        let bytes = self.next_bytes().await?.context("the stream has ended")?;
        Ok(M::decode(bytes)?)
    }

    /// What came after the last message.
    ///
    /// # Errors
    /// The transport broke.
    pub async fn trailers(&mut self) -> Result<HeaderMap> {
        self.opened().await?.trailers().await
    }

    /// Ends the request side now.
    ///
    /// # Errors
    /// It is closed.
    pub fn half_close(&mut self) -> Result<()> {
        self.body.send_data(Bytes::new(), true).context("the request side is closed")
    }

    /// Ends the stream as the Go client does after ten minutes.
    pub fn cancel(mut self) {
        self.body.send_reset(h2::Reason::CANCEL);
    }

    async fn opened(&mut self) -> Result<&mut Messages> {
        if let State::Asked(response) = &mut self.state {
            self.state = State::Open(Messages::new(response.await.context("no answer")?));
        }
        match &mut self.state {
            State::Open(messages) => Ok(messages),
            State::Asked(_) => anyhow::bail!("it was opened a moment ago"),
        }
    }
}

impl Messages {
    pub(super) fn new(response: super::client::Head) -> Self {
        let (head, body) = response.into_parts();
        Self { headers: head.headers, status: head.status.as_u16(), body, unread: BytesMut::new() }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(message) = self.whole_message()? {
                return Ok(Some(message));
            }
            let Some(data) = self.body.data().await else {
                ensure!(self.unread.is_empty(), "the stream ended within a message");
                return Ok(None);
            };
            let data = data.context("the stream broke")?;
            self.body.flow_control().release_capacity(data.len())?;
            self.unread.extend_from_slice(&data);
        }
    }

    fn whole_message(&mut self) -> Result<Option<Bytes>> {
        let Some((head, rest)) = self.unread.split_first_chunk::<5>() else { return Ok(None) };
        ensure!(head[0] == 0, "a compressed message");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if rest.len() < length {
            return Ok(None);
        }
        self.unread.advance(5);
        Ok(Some(self.unread.split_to(length).freeze()))
    }

    pub(super) async fn trailers(&mut self) -> Result<HeaderMap> {
        Ok(self.body.trailers().await.context("the stream broke")?.unwrap_or_default())
    }
}
