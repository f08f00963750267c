//! `RoutingService`: the map as a snapshot and deltas, and lookups.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::status::TypedError;
use plimsoll_wire::v1;
use plimsoll_wire::v1::routing_service_server::RoutingService;
use plimsoll_wire::v1::watch_response::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::support::Located;
use super::{Services, validate};
use crate::board::Next;
use crate::driver::NamespaceHandle;

/// How often a silent watch says that it is still there; 10 s are promised.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Messages that wait for a slow reader; after that changes gather.
const UNREAD: usize = 4;

type Watched = Result<v1::WatchResponse, Status>;

#[tonic::async_trait]
impl RoutingService for Services {
    type WatchStream = ReceiverStream<Watched>;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let v1::WatchRequest { namespace, epoch, revision } = request.into_inner();
        let namespace = self.namespace(&namespace)?;
        let (sender, messages) = mpsc::channel(UNREAD);
        let watch = Watch { services: self.clone(), namespace, epoch, revision, sender };
        tokio::spawn(watch.run());
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn lookup(
        &self,
        request: Request<v1::LookupRequest>,
    ) -> Result<Response<v1::LookupResponse>, Status> {
        let v1::LookupRequest { namespace, shard_key } = request.into_inner();
        self.counted("Lookup", self.look_up(&namespace, &shard_key)).await
    }
}

impl Services {
    async fn look_up(&self, name: &str, key: &str) -> Result<v1::LookupResponse, Status> {
        validate::key(key)?;
        let namespace = self.namespace(name)?;
        match self.find_owner(&namespace, key, true).await? {
            Located::Owner(owner) => Ok(v1::LookupResponse {
                executor_id: owner.executor.id.to_string(),
                generation: owner.generation,
                metadata: owner.executor.metadata.clone().into_iter().collect(),
            }),
            Located::Drained => Err(TypedError::shard_drained(name, key).into()),
            Located::NotFound => Err(TypedError::shard_not_found(name, key).into()),
            Located::NoExecutor => {
                Err(Status::unavailable("no executor can run the shard now: try again"))
            }
        }
    }
}

/// One watch.
struct Watch {
    services: Services,
    namespace: Arc<NamespaceHandle>,
    /// What the client holds.
    epoch: String,
    revision: u64,
    sender: mpsc::Sender<Watched>,
}

impl Watch {
    async fn run(mut self) {
        let _open = self.services.metrics.watch("v1");
        let shutdown = self.services.shutdown.clone();
        let mut revisions = self.namespace.board.revisions();
        if self.catch_up(true).await.is_err() {
            return;
        }
        loop {
            tokio::select! {
                changed = revisions.changed() => if changed.is_err() { break },
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    if self.keep_alive().await.is_err() { return }
                }
                () = shutdown.cancelled() => break,
                () = self.sender.closed() => return,
            }
            if self.catch_up(false).await.is_err() {
                return;
            }
        }
        // The client may have gone too.
        drop(
            self.sender.send(Err(Status::unavailable("this server leaves: watch elsewhere"))).await,
        );
    }

    /// Sends whatever the client does not have.
    async fn catch_up(&mut self, at_first: bool) -> Result<(), ()> {
        match self.namespace.board.since(&self.epoch, self.revision) {
            Next::Nothing if at_first => self.keep_alive().await,
            Next::Nothing => Ok(()),
            Next::Deltas(deltas) => {
                for delta in deltas {
                    self.send(Message::Delta((&*delta).into())).await?;
                    self.revision = delta.to;
                }
                Ok(())
            }
            Next::Snapshot(parts) => {
                for part in parts {
                    self.revision = part.revision;
                    self.epoch = part.epoch.to_string();
                    self.send(Message::Snapshot((&part).into())).await?;
                }
                Ok(())
            }
        }
    }

    async fn keep_alive(&self) -> Result<(), ()> {
        self.send(Message::KeepAlive(v1::KeepAlive { revision: self.revision })).await
    }

    async fn send(&self, message: Message) -> Result<(), ()> {
        let response = v1::WatchResponse { message: Some(message) };
        self.sender.send(Ok(response)).await.map_err(|_| ())
    }
}
