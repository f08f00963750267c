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
use super::support::{gone, no_map_yet};
use crate::board::{Held, Next};
use crate::driver::{Gone as NotLed, NamespaceHandle};
use crate::listing::Listed;
use crate::replica;

/// How often a silent watch says that it is still there; 10 s are promised.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Messages that wait for a slow reader; after that changes gather.
const UNREAD: usize = 4;

pub(super) type Request = v1::WatchRequest;

/// Opens a watch. `by_server`: another server follows its leader by it, and nobody
/// else.
pub(super) fn open(
    services: Services,
    request: Request,
    by_server: bool,
) -> Result<Response<Pushes>, Status> {
    let v1::WatchRequest { namespace, epoch, revision } = request;
    let listed = services.listed(&namespace)?;
    let led = services.namespaces.get(&namespace);
    if by_server && led.is_none() {
        return Err(gone(NotLed));
    }
    if listed.board.held().is_none() {
        return Err(no_map_yet(&namespace));
    }
    let (sender, messages) = mpsc::channel(UNREAD);
    let held = (!epoch.is_empty()).then(|| Held { epoch: epoch.into(), revision });
    // A copy of the map may be behind what the client has seen at another server; the
    // leader's is behind nobody's.
    let held = held.filter(|it| led.is_none() || it.revision <= listed.board.revision());
    let mut answer = Response::new(Pushes::new(messages));
    services.tell_age(&listed, &mut answer);
    let leader = led.filter(|_| by_server);
    tokio::spawn(Watch { services, listed, leader, held, sender }.run());
    Ok(answer)
}

struct Watch {
    services: Services,
    listed: Arc<Listed>,
    /// Of a watch that ends with the leadership.
    leader: Option<Arc<NamespaceHandle>>,
    /// What the client holds.
    held: Option<Held>,
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
        let listed = self.listed.clone();
        let mut changes = listed.board.changes();
        let (leader, pause) = match self.leader.clone() {
            Some(leader) => (Some(leader), replica::KEEP_ALIVE),
            None => (None, KEEP_ALIVE),
        };
        let led_no_more = async move {
            match leader {
                Some(leader) => leader.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(led_no_more);
        if !self.catch_up().await? {
            self.keep_alive().await?;
        }
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(()) },
                () = tokio::time::sleep(pause) => self.keep_alive().await?,
                () = listed.gone.cancelled() => return Ok(()),
                () = &mut led_no_more => return Ok(()),
                () = shutdown.cancelled() => return Ok(()),
                () = self.sender.closed() => return Err(Gone),
            }
            self.catch_up().await?;
        }
    }

    /// Sends whatever the client does not have; false if that is nothing.
    async fn catch_up(&mut self) -> Result<bool, Gone> {
        match self.listed.board.since(self.held.as_ref()) {
            Next::Nothing => Ok(false),
            Next::Deltas(deltas) => {
                for delta in deltas {
                    self.send(delta.message.clone()).await?;
                    if let Some(held) = &mut self.held {
                        held.revision = delta.to;
                    }
                }
                Ok(true)
            }
            Next::Snapshot { held, parts } => {
                for part in parts.iter() {
                    self.send(part.clone()).await?;
                }
                self.held = Some(held);
                Ok(true)
            }
        }
    }

    async fn keep_alive(&self) -> Result<(), Gone> {
        let alive = v1::KeepAlive {
            revision: self.held.as_ref().map_or(0, |held| held.revision),
            age_ms: self.services.replica_age(&self.listed).map_or(0, |age| age.as_millis() as u64),
        };
        let response = v1::WatchResponse { message: Some(Message::KeepAlive(alive)) };
        self.send(response.encode_to_vec().into()).await
    }

    async fn send(&self, message: Bytes) -> Result<(), Gone> {
        self.sender.send(Ok(message)).await.map_err(|_| Gone)
    }
}
