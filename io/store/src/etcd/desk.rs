//! One namespace in etcd: what the store does with it, one thing after the other.
//!
//! Changes of a namespace take effect in the order of the calls, and a large batch
//! is several transactions, so each namespace has a task of its own that does them
//! in turn. A namespace whose calls hang does not hold up another.
//!
//! A request may be delayed: a member that hung passes it on when it wakes, long after
//! another member was asked again. So a commit also compares the one before it, and a
//! creation the epoch: what was overtaken does not pass.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::api::Compare;
use super::batch::{Batch, put};
use super::client::Client;
use super::keys::{Folder, Keys};
use super::load;
use super::txn::{exists, get, got, holds, only, read, read_together, txn, unchanged};
use super::{EtcdError, large};
use crate::record::{NamespaceRecord, Stored, Write};
use crate::{Epoch, Error, json};

/// Something to do, and where the answer goes.
#[derive(Debug)]
pub(super) enum Job {
    Create(NamespaceRecord, Vec<Write>, oneshot::Sender<Result<(), Error>>),
    Delete(oneshot::Sender<Result<(), Error>>),
    Lead(oneshot::Sender<Result<Epoch, Error>>),
    Load(oneshot::Sender<Result<Stored, Error>>),
    Commit(Epoch, Vec<Write>, oneshot::Sender<Result<(), Error>>),
}

/// What is in force for a namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) exists: bool,
    epoch: Epoch,
    /// Revision of the key of the epoch; 0: it was never led.
    pub(super) epoch_revision: i64,
    /// Of etcd as a whole, when this was read.
    revision: i64,
}

impl Standing {
    /// Above every epoch there was, also of other namespaces as of this revision, so
    /// that an epoch that is used for the wrong namespace is found out.
    pub(super) fn next_epoch(&self) -> Epoch {
        Epoch((self.epoch.0 + 1).max(u64::try_from(self.revision).unwrap_or(0)))
    }
}

#[derive(Debug)]
struct Desk {
    client: Arc<Client>,
    keys: Keys,
    name: Arc<str>,
}

/// Starts the task of a namespace. It ends when nobody can send it jobs any more.
pub(super) fn open(client: Arc<Client>, keys: Keys, name: Arc<str>) -> mpsc::UnboundedSender<Job> {
    let (sender, mut jobs) = mpsc::unbounded_channel();
    let desk = Desk { client, keys, name };
    tokio::spawn(async move {
        while let Some(job) = jobs.recv().await {
            desk.do_job(job).await;
        }
    });
    sender
}

impl Desk {
    /// Whoever asked may have gone: that takes nothing back.
    async fn do_job(&self, job: Job) {
        match job {
            Job::Create(record, writes, answer) => {
                let _ = answer.send(self.create(&record, &writes).await);
            }
            Job::Delete(answer) => {
                let _ = answer.send(self.delete().await);
            }
            Job::Lead(answer) => {
                let _ = answer.send(self.lead().await);
            }
            Job::Load(answer) => {
                let _ = answer.send(self.load().await);
            }
            Job::Commit(epoch, writes, answer) => {
                let _ = answer.send(self.commit(epoch, &writes).await);
            }
        }
    }

    // === the life of a namespace ===

    async fn create(&self, record: &NamespaceRecord, writes: &[Write]) -> Result<(), Error> {
        Error::check_names(&self.name, writes)?;
        let standing = standing(&self.client, &self.keys, &self.name).await?;
        let mut batch = Batch::new(&self.keys, &self.name, writes)?;
        if let Some(floor) = batch.floor {
            batch.put(self.key(Folder::Floors), text(floor));
        }
        let creation = format!("{:032x}", rand::random::<u128>()).into_bytes();
        let record = match batch.take(&self.key(Folder::Namespaces)) {
            Some(changed) => changed,
            None => json::from_namespace(record).map_err(|error| self.unwritable(&error))?,
        };
        let born = vec![
            put(self.key(Folder::Namespaces), record),
            put(self.key(Folder::Creations), creation.clone()),
        ];
        let guards = vec![
            unchanged(self.key(Folder::Namespaces), 0),
            unchanged(self.key(Folder::Epochs), standing.epoch_revision),
            self.nothing_committed(),
        ];
        let otherwise = vec![get(self.key(Folder::Creations))];
        let parts = batch.into_parts();
        let (client, keys, name) = (&self.client, &self.keys, &self.name);
        let answer = large::commit(client, keys, name, guards, parts, born, otherwise).await?;
        let ours = got(&answer, 0).is_some_and(|made| made.value == creation);
        if answer.succeeded || ours {
            return Ok(());
        }
        Err(Error::Exists { namespace: Arc::clone(&self.name) })
    }

    /// The epoch is raised with it, so that whoever led it writes nothing into a
    /// namespace that is made in its place.
    async fn delete(&self) -> Result<(), Error> {
        loop {
            let standing = self.standing_or_missing().await?;
            let mut operations = self.everything();
            operations.push(put(self.key(Folder::Epochs), text(standing.next_epoch().0)));
            let guards = vec![
                exists(self.key(Folder::Namespaces)),
                unchanged(self.key(Folder::Epochs), standing.epoch_revision),
            ];
            if self.client.txn(txn(guards, operations, Vec::new())).await?.succeeded {
                return Ok(());
            }
        }
    }

    fn everything(&self) -> Vec<super::api::RequestOp> {
        let alone = [
            Folder::Namespaces,
            Folder::Creations,
            Folder::LastCommits,
            Folder::Floors,
            Folder::Committed,
        ];
        let many =
            [Folder::Grants, Folder::ShardDrains, Folder::HostDrains, Folder::Loads, Folder::Redo];
        let alone = alone.map(|folder| self.key(folder)..Vec::new());
        let many = many.map(|folder| self.keys.all_within(folder, &self.name));
        alone.into_iter().chain(many).map(super::batch::delete).collect()
    }

    // === leading it ===

    async fn lead(&self) -> Result<Epoch, Error> {
        loop {
            let standing = self.standing_or_missing().await?;
            let epoch = standing.next_epoch();
            let guards = vec![
                exists(self.key(Folder::Namespaces)),
                unchanged(self.key(Folder::Epochs), standing.epoch_revision),
            ];
            let raised = vec![put(self.key(Folder::Epochs), text(epoch.0))];
            if self.client.txn(txn(guards, raised, Vec::new())).await?.succeeded {
                return Ok(epoch);
            }
        }
    }

    async fn load(&self) -> Result<Stored, Error> {
        self.standing_or_missing().await?;
        large::finish(&self.client, &self.keys, &self.name).await?;
        Ok(load::stored(&self.client, &self.keys, &self.name).await?)
    }

    async fn commit(&self, epoch: Epoch, writes: &[Write]) -> Result<(), Error> {
        Error::check_names(&self.name, writes)?;
        let mark = format!("{:032x}", rand::random::<u128>()).into_bytes();
        loop {
            let last = read(&self.client, self.key(Folder::LastCommits)).await?;
            if last.as_ref().is_some_and(|last| last.value == mark) {
                return Ok(());
            }
            let after = last.map_or(0, |last| last.mod_revision);
            if self.try_commit(epoch, writes, &mark, after).await? {
                return Ok(());
            }
            // A guard failed, a large batch was left half done, or it has passed and
            // its answer was lost.
            self.check_epoch(epoch, &self.standing_or_missing().await?)?;
            large::finish(&self.client, &self.keys, &self.name).await?;
        }
    }

    /// One that nobody has led has no epoch, not the epoch 0.
    fn check_epoch(&self, epoch: Epoch, standing: &Standing) -> Result<(), Error> {
        if standing.epoch_revision == 0 {
            let namespace = Arc::clone(&self.name);
            return Err(Error::Fenced { namespace, epoch, current: standing.epoch });
        }
        Error::check_epoch(&self.name, epoch, standing.epoch)
    }

    /// `after` is the revision of the last commit, `mark` the name of this one.
    async fn try_commit(
        &self,
        epoch: Epoch,
        writes: &[Write],
        mark: &[u8],
        after: i64,
    ) -> Result<bool, Error> {
        let mut batch = Batch::new(&self.keys, &self.name, writes)?;
        let mut guards = vec![
            exists(self.key(Folder::Namespaces)),
            holds(self.key(Folder::Epochs), text(epoch.0)),
            unchanged(self.key(Folder::LastCommits), after),
            self.nothing_committed(),
        ];
        if let Some(floor) = batch.floor {
            guards.push(self.raise_floor(&mut batch, floor).await?);
        }
        let parts = batch.into_parts();
        let marked = vec![put(self.key(Folder::LastCommits), mark.to_vec())];
        let (client, keys, name) = (&self.client, &self.keys, &self.name);
        let answer = large::commit(client, keys, name, guards, parts, marked, Vec::new()).await?;
        Ok(answer.succeeded)
    }

    /// A floor never sinks. Returns the guard that it has not changed meanwhile.
    async fn raise_floor(&self, batch: &mut Batch, floor: u64) -> Result<Compare, Error> {
        let key = self.key(Folder::Floors);
        let present = read(&self.client, key.clone()).await?;
        let revision = present.as_ref().map_or(0, |kv| kv.mod_revision);
        let present = present.map(|kv| load::number(&kv)).transpose()?.unwrap_or(0);
        if floor > present {
            batch.put(key.clone(), text(floor));
        }
        Ok(unchanged(key, revision))
    }

    // === what is in force ===

    async fn standing_or_missing(&self) -> Result<Standing, Error> {
        let standing = standing(&self.client, &self.keys, &self.name).await?;
        if standing.exists {
            return Ok(standing);
        }
        Err(Error::NotFound { namespace: Arc::clone(&self.name) })
    }

    fn nothing_committed(&self) -> Compare {
        unchanged(self.key(Folder::Committed), 0)
    }

    fn key(&self, folder: Folder) -> Vec<u8> {
        self.keys.of(folder, &self.name)
    }

    fn unwritable(&self, error: &serde_json::Error) -> EtcdError {
        EtcdError::Damaged { key: self.name.to_string(), detail: error.to_string() }
    }
}

/// Whether there is a namespace of that name, and under which epoch.
pub(super) async fn standing(
    client: &Client,
    keys: &Keys,
    name: &str,
) -> Result<Standing, EtcdError> {
    let ranges = [Folder::Namespaces, Folder::Epochs].map(|folder| only(keys.of(folder, name)));
    let (found, revision) = read_together(client, ranges).await?;
    let epoch = found.get(1).and_then(|kvs| kvs.first());
    Ok(Standing {
        exists: found.first().is_some_and(|kvs| !kvs.is_empty()),
        epoch: Epoch(epoch.map(load::number).transpose()?.unwrap_or(0)),
        epoch_revision: epoch.map_or(0, |kv| kv.mod_revision),
        revision,
    })
}

/// As it stands in etcd.
pub(super) fn text(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}
