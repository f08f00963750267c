//! One session stream: what is queued goes out, what comes in is handed on.
//! Dropping it ends the stream.

use futures::StreamExt;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1::executor_service_client::ExecutorServiceClient;
use plimsoll_wire::v1::session_request::Message;
use plimsoll_wire::v1::{SessionRequest, SessionResponse};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::transport::Channel;

/// Messages read ahead of the driver, which never waits for long.
const READ_AHEAD: usize = 64;

/// What came in. `Broken` is the last: without a status the server simply ended.
#[derive(Debug)]
pub(super) enum Said {
    Message(SessionResponse),
    Broken(Option<Status>),
}

#[derive(Debug)]
pub(super) struct Session {
    outgoing: mpsc::UnboundedSender<SessionRequest>,
    incoming: mpsc::Receiver<Said>,
    _reader: AbortOnDropHandle<()>,
}

impl Session {
    /// The server may wait for the first message before it answers at all, so
    /// this does not wait for an answer.
    pub(super) fn open(channel: Channel) -> Self {
        let (outgoing, queued) = mpsc::unbounded_channel();
        let (said, incoming) = mpsc::channel(READ_AHEAD);
        let reader = tokio::spawn(read(channel, queued, said));
        Self { outgoing, incoming, _reader: AbortOnDropHandle::new(reader) }
    }

    pub(super) fn send(&self, message: Message) {
        // If the stream is gone, that is what `said` tells next.
        let _ = self.outgoing.send(SessionRequest { message: Some(message) });
    }

    /// What the server says next. Cancelling loses nothing.
    pub(super) async fn said(&mut self) -> Said {
        self.incoming.recv().await.unwrap_or(Said::Broken(None))
    }
}

async fn read(
    channel: Channel,
    queued: mpsc::UnboundedReceiver<SessionRequest>,
    said: mpsc::Sender<Said>,
) {
    let status = pump(channel, queued, &said).await.err();
    // Nobody listens when the driver has dropped the session.
    let _ = said.send(Said::Broken(status)).await;
}

async fn pump(
    channel: Channel,
    queued: mpsc::UnboundedReceiver<SessionRequest>,
    said: &mpsc::Sender<Said>,
) -> Result<(), Status> {
    let mut client = ExecutorServiceClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let mut stream = client.session(UnboundedReceiverStream::new(queued)).await?.into_inner();
    while let Some(message) = stream.next().await {
        if said.send(Said::Message(message?)).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
