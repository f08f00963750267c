//! Keeps the map up to date. Whatever breaks, the map stays and is served; the
//! next stream goes on from its revision, or begins anew if the server cannot.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use plimsoll_routing::{Applied, Delta, Rejected, SnapshotPart, Table};
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use plimsoll_wire::v1::watch_response::Message;
use plimsoll_wire::v1::{Snapshot, WatchRequest, WatchResponse};
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use super::shared::Shared;
use crate::dialer::{Dialer, Dialing};
use crate::error::is_refusal;

const REPLICA_AGE: &str = "plimsoll-replica-age-ms";

/// Follows one namespace for ever.
pub(super) struct Watch {
    shared: Arc<Shared>,
    /// How long the server may be silent. It sends a keep-alive every 10 s.
    silence: Duration,
    /// The snapshot whose last part has not come yet.
    coming: Table,
    /// A change did not fit: only a whole snapshot will do.
    distrusted: bool,
}

/// Why a stream is of no more use.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{} ({:?})", .0.message(), .0.code())]
    Status(Box<Status>),
    #[error("the server ended the watch")]
    Ended,
    #[error("the server was silent for {0:?}")]
    Silent(Duration),
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl From<Status> for Broken {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl Watch {
    pub(super) fn new(shared: Arc<Shared>, silence: Duration) -> Self {
        Self { shared, silence, coming: Table::new(), distrusted: false }
    }

    pub(super) async fn follow(mut self, dialer: Dialer) {
        let mut dialing = dialer.dial();
        loop {
            let (mut dialer, channel) = dialing.await;
            let broken = self.read(channel, &mut dialer).await;
            self.shared.set_unwatched();
            dialing = self.redial(dialer, broken);
        }
    }

    fn redial(&mut self, mut dialer: Dialer, broken: Broken) -> Dialing {
        let first = match &broken {
            Broken::Status(status) => dialer.failed_with(status),
            _ => dialer.failed(),
        };
        self.distrusted |= matches!(broken, Broken::Rejected(_));
        match broken {
            Broken::Status(status) if is_refusal(&status) => {
                if self.shared.refuse(&status) {
                    self.complain(&Broken::Status(status));
                }
                dialer.dial_seldom()
            }
            broken => {
                if first {
                    self.complain(&broken);
                }
                dialer.dial_backed_off()
            }
        }
    }

    fn complain(&self, broken: &Broken) {
        let namespace = self.shared.namespace();
        tracing::warn!(namespace, error = %broken, "the watch broke, trying on");
    }

    async fn read(&mut self, channel: Channel, dialer: &mut Dialer) -> Broken {
        let mut stream = match self.open(channel).await {
            Ok(stream) => stream,
            Err(broken) => return broken,
        };
        loop {
            match self.next(&mut stream).await {
                Ok(true) => dialer.succeeded(),
                Ok(false) => {}
                Err(broken) => return broken,
            }
        }
    }

    async fn open(&self, channel: Channel) -> Result<Streaming<WatchResponse>, Broken> {
        let mut client =
            RoutingServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let watch = client.watch(self.request());
        match tokio::time::timeout(self.silence, watch).await {
            Ok(response) => {
                let response = response?;
                self.shared.set_replica_age(replica_age(response.metadata()));
                Ok(response.into_inner())
            }
            Err(_) => Err(Broken::Silent(self.silence)),
        }
    }

    fn request(&self) -> WatchRequest {
        let namespace = self.shared.namespace().to_owned();
        if self.distrusted {
            return WatchRequest { namespace, epoch: String::new(), revision: 0 };
        }
        let (epoch, revision) = self.shared.position();
        WatchRequest { namespace, epoch, revision }
    }

    /// Takes one message; `true` if the map is known to be up to date after it.
    async fn next(&mut self, stream: &mut Streaming<WatchResponse>) -> Result<bool, Broken> {
        let message = match tokio::time::timeout(self.silence, stream.next()).await {
            Ok(message) => message.ok_or(Broken::Ended)??,
            Err(_) => return Err(Broken::Silent(self.silence)),
        };
        Ok(self.apply(message)?)
    }

    fn apply(&mut self, response: WatchResponse) -> Result<bool, Rejected> {
        match response.message {
            Some(Message::Snapshot(part)) => self.collect(part).map(|()| false),
            Some(Message::Delta(delta)) => self.change(delta.into()).map(|()| true),
            Some(Message::KeepAlive(alive)) => {
                self.shared.set_replica_age(alive.age_ms);
                self.shared.keep_alive(alive.revision).map(|()| true)
            }
            // A later server's words.
            None => Ok(false),
        }
    }

    fn change(&self, mut delta: Delta) -> Result<(), Rejected> {
        self.shared.fill_in(&mut delta.executors);
        self.shared.apply_delta(&delta)
    }

    /// Parts are collected aside, so that readers never wait for them.
    fn collect(&mut self, part: Snapshot) -> Result<(), Rejected> {
        let mut part = SnapshotPart::from(part);
        self.shared.fill_in(&mut part.executors);
        let applied = self.coming.apply_part(self.shared.now(), part)?;
        if applied == Applied::Replaced {
            self.shared.replace(std::mem::take(&mut self.coming));
            self.distrusted = false;
        }
        Ok(())
    }
}

/// What a server that is not the leader says of its map; the leader says nothing.
fn replica_age(metadata: &MetadataMap) -> u64 {
    let age = metadata.get(REPLICA_AGE).and_then(|age| age.to_str().ok());
    age.and_then(|age| age.parse().ok()).unwrap_or(0)
}
