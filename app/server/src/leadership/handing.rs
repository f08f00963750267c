//! From one server to the next: the old leader's driver gives its state away, the
//! next one leads with it.
//!
//! If anything goes wrong on the way the namespace is led from its records: slower,
//! and nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_store::EtcdError;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1;
use plimsoll_wire::v1::peer_service_client::PeerServiceClient;
use prost::Message;
use tonic::{Request, Status};

use super::{Servers, TOUCH};
use crate::driver::HandOut;
use crate::election::Won;
use crate::namespaces::Start;

/// Shown with every call from server to server.
pub const SERVER_KEY: &str = "plimsoll-server-key";

/// How long the next leader may take to take over.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(2);

impl Servers {
    // === handing over ===

    pub(super) async fn hand_over(&self, namespace: &Arc<str>, to: &Arc<str>) {
        let Some(handle) = self.namespaces.get(namespace) else {
            return self.elector.ended(namespace);
        };
        let Some(epoch) = self.elector.view().leaders.get(namespace).map(|it| it.epoch) else {
            return self.elector.ended(namespace);
        };
        let begun = self.clock.now();
        // A driver that has ended has told the elector.
        let Ok(HandOut { state, until }) = handle.hand_out().await else { return };
        let mut request = v1::TakeOverRequest {
            namespace: namespace.to_string(),
            server: self.elector.me.to_string(),
            epoch: epoch.0,
            state: Some((&state).into()),
            history: handle.history.to_hand_over(self.clock.epoch_ms()),
        };
        make_room(&mut request);
        let answer = tokio::time::timeout(HAND_OVER_WITHIN, self.call_to_take_over(to, request));
        match answer.await.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer"))) {
            Ok(_) => {
                let took = self.clock.now() - begun;
                tracing::info!(%namespace, %to, ?took, "handed over");
                self.look_once().await;
            }
            Err(status) => {
                tracing::warn!(%namespace, %to, error = status.message(), "could not be handed over: others begin from the records");
                self.resign(namespace, epoch).await;
            }
        }
        drop(until);
    }

    async fn look_once(&self) {
        let seen = tokio::time::timeout(TOUCH, self.elector.observe()).await;
        if let Ok(seen) = seen {
            self.note("see the other servers", seen);
        }
    }

    async fn call_to_take_over(
        &self,
        to: &Arc<str>,
        request: v1::TakeOverRequest,
    ) -> Result<v1::TakeOverResponse, Status> {
        let view = self.elector.view();
        let about = view.servers.get(to).ok_or_else(|| Status::unavailable("it has gone"))?;
        let used = self
            .peers
            .to(&about.address.as_str().into())
            .map_err(|it| Status::internal(it.to_string()))?;
        let mut client = PeerServiceClient::new(used.channel.clone())
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        let mut request = Request::new(request);
        if let Ok(key) = self.elector.about.key.parse() {
            request.metadata_mut().insert(SERVER_KEY, key);
        }
        Ok(client.take_over(request).await?.into_inner())
    }

    // === being handed over to ===

    /// Takes a namespace over from its leader.
    ///
    /// # Errors
    /// As `PeerService/TakeOver`.
    pub async fn take_over(
        self: &Arc<Self>,
        key: Option<&str>,
        request: v1::TakeOverRequest,
    ) -> Result<v1::TakeOverResponse, Status> {
        let namespace: Arc<str> = request.namespace.as_str().into();
        self.check_key(key, &request.server).await?;
        let (state, history) = (request.state.unwrap_or_default(), request.history);
        let state = state
            .try_into()
            .map_err(|it: plimsoll_wire::NotUnderstood| Status::invalid_argument(it.to_string()))?;
        let state = Box::new(state);
        if !self.elector.invited(&namespace) {
            return Err(Status::failed_precondition("this server cannot take it now"));
        }
        let won = match self.won_from(&namespace, request.epoch).await {
            Ok(Some(won)) => won,
            Ok(None) => {
                self.elector.ended(&namespace);
                return Err(Status::failed_precondition("another server leads it"));
            }
            Err(error) => {
                self.elector.ended(&namespace);
                return Err(Status::unavailable(error.to_string()));
            }
        };
        let epoch = won.epoch;
        match self.namespaces.take(&namespace, won, Start::Warm { state, history }).await {
            Ok(()) => {
                tracing::info!(%namespace, %epoch, from = %request.server, "taken over");
                self.show_leaders();
                Ok(v1::TakeOverResponse { epoch: epoch.0 })
            }
            Err(error) => {
                self.resign(&namespace, epoch).await;
                self.elector.ended(&namespace);
                Err(Status::internal(error.to_string()))
            }
        }
    }

    async fn won_from(&self, namespace: &Arc<str>, epoch: u64) -> Result<Option<Won>, EtcdError> {
        let is_seen =
            self.elector.view().leaders.get(namespace).is_some_and(|it| it.epoch.0 == epoch);
        if !is_seen {
            self.elector.observe().await?;
        }
        self.elector.run(namespace, Some(epoch)).await
    }

    /// Only who can read etcd has the key that a server has written there.
    pub(crate) async fn check_key(&self, key: Option<&str>, server: &str) -> Result<(), Status> {
        let known = || self.elector.view().servers.get(server).map(|about| about.key.clone());
        if known().is_none() {
            // It may have joined a moment ago.
            let _ = self.elector.observe().await;
        }
        match (key, known()) {
            (Some(key), Some(known)) if *key == *known => Ok(()),
            _ => Err(Status::permission_denied("only servers of this cluster may call this")),
        }
    }
}

/// Leaves behind what is least needed if it would be more than a message may be: first
/// the history, then the states that owners leave to the next ones.
fn make_room(request: &mut v1::TakeOverRequest) {
    if request.encoded_len() > MAX_MESSAGE_BYTES {
        request.history.clear();
    }
    if request.encoded_len() > MAX_MESSAGE_BYTES {
        let shards = request.state.iter_mut().flat_map(|state| &mut state.shards);
        for legacy in shards.filter_map(|shard| shard.legacy.as_mut()) {
            legacy.lost += legacy.state.take().map_or(0, |state| state.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::v1::HandedShard;
    use plimsoll_wire::v1::handed_shard::Legacy;

    use super::*;

    fn request(states: usize) -> v1::TakeOverRequest {
        let legacy = Legacy { state: Some(vec![7; 1024 * 1024]), ..Legacy::default() };
        let shard = HandedShard { legacy: Some(legacy), ..HandedShard::default() };
        let state = v1::HandoverState { shards: vec![shard; states], ..Default::default() };
        let event = v1::Event { detail: "x".repeat(1024 * 1024), ..Default::default() };
        v1::TakeOverRequest { state: Some(state), history: vec![event], ..Default::default() }
    }

    #[test]
    fn what_is_more_than_a_message_may_be_stays_behind_least_needed_first() {
        let kept = |states| {
            let mut request = request(states);
            make_room(&mut request);
            assert!(request.encoded_len() <= MAX_MESSAGE_BYTES);
            let shards = request.state.unwrap_or_default().shards;
            let lost: u64 =
                shards.iter().filter_map(|it| it.legacy.as_ref()).map(|it| it.lost).sum();
            (request.history.len(), lost)
        };
        assert_eq!((kept(10), kept(63)), ((1, 0), (0, 0)));
        assert_eq!(kept(64), (0, 64 * 1024 * 1024));
    }
}
