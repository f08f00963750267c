//! `RoutingService/Watch`: the map as a snapshot and deltas.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_wire::v1;
use plimsoll_wire::v1::watch_response::Message;
use prost::Message as _;
use tokio::sync::mpsc;
use tonic::{Response, Status};

use super::Services;
use super::pushed::Pushes;
use crate::board::Next;
use crate::driver::NamespaceHandle;

/// How often a silent watch says that it is still there; 10 s are promised.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Messages that wait for a slow reader; after that changes gather.
const UNREAD: usize = 4;

pub(super) type Request = v1::WatchRequest;

/// Opens a watch.
pub(super) fn open(services: Services, request: Request) -> Result<Response<Pushes>, Status> {
    let v1::WatchRequest { namespace, epoch, revision } = request;
    let namespace = services.namespace(&namespace)?;
    let (sender, messages) = mpsc::channel(UNREAD);
    let same_epoch = *epoch == **namespace.board.epoch();
    let held = same_epoch.then_some(revision);
    tokio::spawn(Watch { services, namespace, held, sender }.run());
    Ok(Response::new(Pushes::new(messages)))
}

struct Watch {
    services: Services,
    namespace: Arc<NamespaceHandle>,
    /// The revision that the client holds; `None`: none of this epoch.
    held: Option<u64>,
    sender: mpsc::Sender<Result<Bytes, Status>>,
}

/// The client has gone.
struct Gone;

impl Watch {
    async fn run(mut self) {
        let _open = self.services.metrics.watch("v1");
        if let Ok(()) = self.tell_until_the_end().await {
            let leaving = Status::unavailable("this server leaves: watch elsewhere");
            // The client may have gone too.
            drop(self.sender.send(Err(leaving)).await);
        }
    }

    /// Until the server leaves or the namespace is deleted.
    async fn tell_until_the_end(&mut self) -> Result<(), Gone> {
        let shutdown = self.services.shutdown.clone();
        let namespace = self.namespace.clone();
        let mut revisions = namespace.board.revisions();
        if !self.catch_up().await? {
            self.keep_alive().await?;
        }
        loop {
            tokio::select! {
                changed = revisions.changed() => if changed.is_err() { return Ok(()) },
                () = tokio::time::sleep(KEEP_ALIVE) => self.keep_alive().await?,
                () = namespace.ended() => return Ok(()),
                () = shutdown.cancelled() => return Ok(()),
                () = self.sender.closed() => return Err(Gone),
            }
            self.catch_up().await?;
        }
    }

    /// Sends whatever the client does not have; false if that is nothing.
    async fn catch_up(&mut self) -> Result<bool, Gone> {
        match self.namespace.board.since(self.held) {
            Next::Nothing => Ok(false),
            Next::Deltas(deltas) => {
                for delta in deltas {
                    self.send(delta.message.clone()).await?;
                    self.held = Some(delta.to);
                }
                Ok(true)
            }
            Next::Snapshot { revision, parts } => {
                for part in parts.iter() {
                    self.send(part.clone()).await?;
                }
                self.held = Some(revision);
                Ok(true)
            }
        }
    }

    async fn keep_alive(&self) -> Result<(), Gone> {
        let alive = v1::KeepAlive { revision: self.held.unwrap_or_default() };
        let response = v1::WatchResponse { message: Some(Message::KeepAlive(alive)) };
        self.send(response.encode_to_vec().into()).await
    }

    async fn send(&self, message: Bytes) -> Result<(), Gone> {
        self.sender.send(Ok(message)).await.map_err(|_| Gone)
    }
}
