//! Follows the map of a namespace that another server leads.
//!
//! It is watched as a spectator watches it, with the leader's own epoch and
//! revisions, so that a client's watch goes on here where it was there. When the
//! leader is gone the map stays: it is as old as it says.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use plimsoll_wire::v1::watch_response::Message;
use tonic::{Request, Status, Streaming};

use crate::board::{Board, NotWritten, Writer};
use crate::clock::Clock;
use crate::election::Elector;
use crate::listing::{LedBy, Listed};
use crate::peers::{self, Peers};

/// Says who asks: another server, which wants to hear often that nothing is new.
pub const SERVER: &str = "plimsoll-server";

/// How often a leader tells another server that nothing is new.
pub const KEEP_ALIVE: Duration = Duration::from_millis(500);
/// A leader that is silent for so long is called anew.
const SILENCE: Duration = Duration::from_secs(3);
/// Between two calls, so that a leader in trouble is not flooded.
const PAUSE: Duration = Duration::from_millis(100);

/// One namespace that is followed.
#[derive(Debug)]
pub struct Replica {
    pub listed: Arc<Listed>,
    pub elector: Arc<Elector>,
    pub peers: Arc<Peers>,
    pub clock: Clock,
}

/// Why a watch ended.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Call(#[from] Status),
    #[error(transparent)]
    Address(#[from] tonic::transport::Error),
    #[error(transparent)]
    Map(#[from] NotWritten),
    #[error("the leader has said nothing for {SILENCE:?}")]
    Silent,
    #[error("the leader ended the watch")]
    Ended,
}

impl Replica {
    /// Follows whoever leads, until the namespace is gone.
    pub async fn run(self) {
        let mut leaders = self.listed.leaders();
        loop {
            let leader = leaders.borrow_and_update().clone();
            let follow = async {
                match leader {
                    Some(leader) if leader.server != self.elector.me => self.follow(&leader).await,
                    Some(_) | None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = follow => {}
                changed = leaders.changed() => if changed.is_err() { return },
                () = self.listed.gone.cancelled() => return,
            }
        }
    }

    async fn follow(&self, leader: &LedBy) {
        // What was seen may be old: the driver of this server still writes.
        while self.elector.leads(&self.listed.name) {
            tokio::time::sleep(PAUSE).await;
        }
        let writer = self.listed.board.begin();
        loop {
            let broken = match self.watch(leader, writer).await {
                Ok(never) => match never {},
                Err(broken) => broken,
            };
            tracing::debug!(namespace = %self.listed.name, leader = %leader.server, %broken, "the map is not followed");
            if matches!(broken, Broken::Map(NotWritten::Superseded)) {
                // Led here by now: the leader on the list is about to change.
                return std::future::pending().await;
            }
            if peers::refuses(&leader.address).await {
                self.elector.refuses(&leader.server);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn watch(
        &self,
        leader: &LedBy,
        writer: Writer,
    ) -> Result<std::convert::Infallible, Broken> {
        let used = self.peers.to(&leader.address)?;
        let mut client = RoutingServiceClient::new(used.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        let mut request = Request::new(self.where_it_is());
        if let Ok(me) = self.elector.me.parse() {
            request.metadata_mut().insert(SERVER, me);
        }
        let opened = tokio::time::timeout(SILENCE, client.watch(request)).await;
        let mut stream = opened.map_err(|_| Broken::Silent)??.into_inner();
        loop {
            let message = next(&mut stream).await?;
            self.apply(&self.listed.board, writer, message)?;
        }
    }

    fn where_it_is(&self) -> v1::WatchRequest {
        let namespace = self.listed.name.to_string();
        match self.listed.board.held() {
            Some(held) => {
                let (epoch, revision) = (held.epoch.to_string(), held.revision);
                v1::WatchRequest { namespace, epoch, revision }
            }
            None => v1::WatchRequest { namespace, ..Default::default() },
        }
    }

    fn apply(&self, board: &Board, writer: Writer, message: Message) -> Result<(), NotWritten> {
        let now = self.clock.now();
        match message {
            Message::Snapshot(part) => board.replace(writer, now, part.into()),
            Message::Delta(delta) => board.follow(writer, now, &delta.into()),
            Message::KeepAlive(alive) => board.confirm(writer, now, alive.revision),
        }
    }
}

async fn next(stream: &mut Streaming<v1::WatchResponse>) -> Result<Message, Broken> {
    let next = tokio::time::timeout(SILENCE, stream.message()).await;
    let response = next.map_err(|_| Broken::Silent)??.ok_or(Broken::Ended)?;
    response.message.ok_or(Broken::Ended)
}
