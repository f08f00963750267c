//! Who is there, and who leads what: what servers say of themselves in etcd.
//!
//! A server holds one lease; its own key and those of its leaderships hang on it and
//! go with it. To lead is one transaction that puts the key and raises the epoch of
//! the namespace, so that nobody can lead without fencing out who led before. Refuses
//! to choose who ought to lead, and to keep time: see `app/server`.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;

use super::api::lease_client::LeaseClient;
use super::api::{
    LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RequestOp, TxnResponse,
};
use super::batch::{delete, put, put_leased};
use super::changes::{self, Change, Leader, Observed};
use super::client::Client;
use super::desk::{Standing, standing, text};
use super::keys::{Folder, Keys};
use super::txn::{exists, get, got, read_together, txn, unchanged};
use super::{EtcdError, EtcdStore};
use crate::Epoch;

/// A server's place among the servers.
#[derive(Debug)]
pub struct Elections {
    client: Arc<Client>,
    keys: Keys,
    server: String,
    about: String,
    lease: i64,
}

impl Elections {
    /// Joins the servers under this id, which no other server may have, telling
    /// `about` of itself. Gone when nothing is heard of it for `time_to_live`, in
    /// whole seconds; etcd makes it longer than its own elections take.
    ///
    /// # Errors
    /// etcd does not answer, or refuses.
    pub async fn join(
        store: &EtcdStore,
        server: &str,
        about: &str,
        time_to_live: Duration,
    ) -> Result<Self, EtcdError> {
        let (client, keys) = (store.client.clone(), store.keys.clone());
        let lease = grant_lease(&client, time_to_live).await?;
        let me = Self { client, keys, server: server.to_owned(), about: about.to_owned(), lease };
        let about = put_leased(me.own_key(), me.about.clone().into_bytes(), lease);
        me.client.txn(txn(Vec::new(), vec![about], Vec::new())).await?;
        Ok(me)
    }

    /// Extends the lease. `false`: it has run out, and everything that hung on it is
    /// gone; join again.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn keep_alive(&self) -> Result<bool, EtcdError> {
        let id = self.lease;
        let answer = self.client.call("extend the lease", |channel, sign| async move {
            let once = tokio_stream::once(LeaseKeepAliveRequest { id });
            let stream = LeaseClient::new(channel).lease_keep_alive(sign.request(once)).await?;
            let answer = stream.into_inner().message().await?;
            answer.map(tonic::Response::new).ok_or_else(|| tonic::Status::unavailable("cut off"))
        });
        Ok(answer.await?.ttl > 0)
    }

    /// Everybody, as a majority of etcd knows it now.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn observe(&self) -> Result<Observed, EtcdError> {
        let ranges = [Folder::Servers, Folder::Leaders].map(|it| self.keys.folder(it));
        let (found, _) = read_together(&self.client, ranges).await?;
        let [servers, leaders] = <[_; 2]>::try_from(found).unwrap_or_default();
        Ok(Observed::new(&self.keys, &servers, &leaders))
    }

    /// Everybody, and then whatever changes, without end: through failures of etcd
    /// too, after which it goes on where it was. It tells sooner than
    /// [`Elections::observe`] what happens, but not that etcd cannot be reached.
    pub fn watch(&self) -> BoxStream<'static, Change> {
        changes::follow(self.client.clone(), self.keys.clone())
    }

    /// Leads the namespace from now on, unless another has come first: `replacing` is
    /// the leadership that was seen last, `None` if there was none. `Ok(None)`: it is
    /// another one by now, or the namespace is gone.
    ///
    /// # Errors
    /// etcd does not answer: nobody knows whether it came to pass.
    pub async fn lead(
        &self,
        namespace: &str,
        replacing: Option<&Leader>,
    ) -> Result<Option<Leader>, EtcdError> {
        let standing = standing(&self.client, &self.keys, namespace).await?;
        if !standing.exists {
            return Ok(None);
        }
        let leader_key = self.keys.of(Folder::Leaders, namespace);
        let seen = replacing.map_or(0, |leader| leader.revision);
        let epoch_key = self.keys.of(Folder::Epochs, namespace);
        let guards = vec![
            exists(self.keys.of(Folder::Namespaces, namespace)),
            unchanged(epoch_key.clone(), standing.epoch_revision),
            unchanged(leader_key, seen),
        ];
        let operations = self.leadership(namespace, &standing);
        let otherwise = vec![get(self.keys.of(Folder::Leaders, namespace))];
        let answer = self.client.txn(txn(guards, operations, otherwise)).await?;
        Ok(self.led(namespace, standing.next_epoch(), &answer))
    }

    fn leadership(&self, namespace: &str, standing: &Standing) -> Vec<RequestOp> {
        let epoch = standing.next_epoch();
        vec![
            put(self.keys.of(Folder::Epochs, namespace), text(epoch.0)),
            put_leased(self.keys.of(Folder::Leaders, namespace), self.told(epoch), self.lease),
        ]
    }

    /// What the leader's key says.
    fn told(&self, epoch: Epoch) -> Vec<u8> {
        format!("{epoch} {}", self.server).into_bytes()
    }

    /// The leadership, if it has come to pass: perhaps by an earlier try whose answer
    /// was lost, since no epoch is given out twice.
    fn led(&self, namespace: &str, epoch: Epoch, answer: &TxnResponse) -> Option<Leader> {
        let before = || got(answer, 0).filter(|kv| kv.value == self.told(epoch));
        let revision = match &answer.header {
            Some(header) if answer.succeeded => header.revision,
            _ => before()?.mod_revision,
        };
        let (namespace, server) = (namespace.to_owned(), self.server.clone());
        Some(Leader { namespace, server, epoch, revision })
    }

    /// Gives this leadership up, if it is still in force.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn resign(&self, leadership: &Leader) -> Result<(), EtcdError> {
        let key = self.keys.of(Folder::Leaders, &leadership.namespace);
        let guard = unchanged(key.clone(), leadership.revision);
        self.client.txn(txn(vec![guard], vec![delete(key..Vec::new())], Vec::new())).await?;
        Ok(())
    }

    /// Leaves the servers: every key of this one is gone at once.
    ///
    /// # Errors
    /// etcd does not answer; then they go when the lease runs out.
    pub async fn leave(&self) -> Result<(), EtcdError> {
        let id = self.lease;
        let revoke = self.client.call("leave", |channel, sign| async move {
            LeaseClient::new(channel).lease_revoke(sign.request(LeaseRevokeRequest { id })).await
        });
        match revoke.await {
            Err(EtcdError::LeaseGone { .. }) => Ok(()),
            answer => answer.map(drop),
        }
    }

    fn own_key(&self) -> Vec<u8> {
        self.keys.of(Folder::Servers, &self.server)
    }
}

async fn grant_lease(client: &Client, time_to_live: Duration) -> Result<i64, EtcdError> {
    // Chosen here, so that a second try does not leave the first one's lease behind.
    let id = rand::random_range(1..i64::MAX);
    let ttl = i64::try_from(time_to_live.as_secs().max(1)).unwrap_or(i64::MAX);
    let granted = client.call("grant a lease", |channel, sign| async move {
        let request = sign.request(LeaseGrantRequest { ttl, id });
        match LeaseClient::new(channel).lease_grant(request).await {
            // Ours, from a try whose answer was lost.
            Err(status) if status.code() == tonic::Code::FailedPrecondition => {
                Ok(tonic::Response::new(super::api::LeaseGrantResponse {
                    id,
                    ..Default::default()
                }))
            }
            answer => answer,
        }
    });
    Ok(granted.await?.id)
}
