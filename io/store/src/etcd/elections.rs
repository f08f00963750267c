//! Who is there, and who leads what: what servers say of themselves in etcd.
//!
//! A server holds one lease; its own key and those of its leaderships hang on it and
//! go with it. To lead is one transaction that puts the key and raises the epoch of
//! the namespace, so that nobody can lead without fencing out who led before. Refuses
//! to choose who ought to lead, and to keep time: see `app/server`.

use std::sync::Arc;
use std::time::Duration;

use super::api::lease_client::LeaseClient;
use super::api::{LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, RequestOp};
use super::batch::{delete, put, put_leased};
use super::client::Client;
use super::desk::{Standing, standing, text};
use super::keys::{Folder, Keys};
use super::load::damaged;
use super::txn::{exists, get_all, got_all, txn, unchanged};
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

/// Everybody at one revision of etcd.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Observed {
    /// Every server: its id and what it says of itself.
    pub servers: Vec<(String, String)>,
    /// Every namespace that is led.
    pub leaders: Vec<Leader>,
}

/// Who leads a namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Leader {
    pub namespace: String,
    /// Its id.
    pub server: String,
    pub epoch: Epoch,
    /// Names this leadership: changes with each.
    pub revision: i64,
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
        let reads = [Folder::Servers, Folder::Leaders].map(|it| get_all(self.keys.folder(it)));
        let answer = self.client.txn(txn(Vec::new(), reads.to_vec(), Vec::new())).await?;
        let mut seen = Observed::default();
        for kv in got_all(&answer, 0) {
            let server = self.keys.name_of(Folder::Servers, &kv.key)?;
            seen.servers.push((server, String::from_utf8_lossy(&kv.value).into_owned()));
        }
        for kv in got_all(&answer, 1) {
            // A foreign key must not keep the others from being seen.
            match self.leader(kv) {
                Ok(leader) => seen.leaders.push(leader),
                Err(error) => tracing::error!(%error, "leader not known"),
            }
        }
        Ok(seen)
    }

    fn leader(&self, kv: &super::api::KeyValue) -> Result<Leader, EtcdError> {
        let namespace = self.keys.name_of(Folder::Leaders, &kv.key)?;
        let told = str::from_utf8(&kv.value).map_err(|_| damaged(kv, "it is not text"))?;
        let (epoch, server) =
            told.split_once(' ').ok_or_else(|| damaged(kv, "it is no epoch and server"))?;
        let epoch = Epoch(epoch.parse().map_err(|error| damaged(kv, error))?);
        Ok(Leader { namespace, server: server.to_owned(), epoch, revision: kv.mod_revision })
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
        let answer = self.client.txn(txn(guards, operations, Vec::new())).await?;
        let revision = answer.header.map_or(0, |header| header.revision);
        let (namespace, server) = (namespace.to_owned(), self.server.clone());
        let epoch = standing.next_epoch();
        Ok(answer.succeeded.then_some(Leader { namespace, server, epoch, revision }))
    }

    fn leadership(&self, namespace: &str, standing: &Standing) -> Vec<RequestOp> {
        let epoch = standing.next_epoch();
        let told = format!("{epoch} {}", self.server).into_bytes();
        vec![
            put(self.keys.of(Folder::Epochs, namespace), text(epoch.0)),
            put_leased(self.keys.of(Folder::Leaders, namespace), told, self.lease),
        ]
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
        revoke.await.map(drop)
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
