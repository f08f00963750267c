//! A store for several servers: etcd.
//!
//! A record is a key, so that a move writes what it changes and nothing else. Every
//! change is one transaction that compares the epoch of the namespace, or is
//! committed by one (see `large`): whoever raised the epoch last is the only one who
//! can write. Refuses to decide who leads; it only makes sure that one does.

mod api;
mod auth;
mod batch;
mod changes;
mod client;
mod desk;
mod elections;
mod error;
mod keys;
mod large;
mod load;
mod options;
mod policies;
mod txn;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

pub use changes::{Change, Leader, Observed};
pub use elections::Elections;
pub use error::EtcdError;
pub use options::{EtcdOptions, EtcdTls};

use crate::record::{NamespaceRecord, Stored, Write};
use crate::{Answer, Epoch, Error, Store};
use client::Client;
use desk::Job;
use keys::Keys;

/// Records in etcd, shared by several servers.
#[derive(Debug)]
pub struct EtcdStore {
    client: Arc<Client>,
    keys: Keys,
    desks: Mutex<HashMap<Arc<str>, mpsc::UnboundedSender<Job>>>,
}

impl EtcdStore {
    /// Connects, and sees that etcd answers. Call it on a tokio runtime.
    ///
    /// # Errors
    /// A bad option, or no member that answers.
    pub async fn connect(options: &EtcdOptions) -> Result<Self, EtcdError> {
        let client = Arc::new(Client::new(options)?);
        let keys = Keys::new(options.prefix.as_deref());
        txn::read(&client, keys.folder(keys::Folder::Namespaces).start).await?;
        Ok(Self { client, keys, desks: Mutex::default() })
    }

    /// Hands a job over at once, in the order of the calls.
    fn ask<T: Send + 'static>(
        &self,
        namespace: &str,
        job: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Job,
    ) -> Answer<'_, T> {
        let (sender, answer) = oneshot::channel();
        self.hand_over(namespace, job(sender));
        async move {
            // The task of a namespace ends with the runtime only.
            answer.await.unwrap_or_else(|_| Err(EtcdError::Closed.into()))
        }
        .boxed()
    }

    fn hand_over(&self, namespace: &str, job: Job) {
        let mut desks = self.desks.lock();
        let job = match desks.get(namespace) {
            Some(desk) => match desk.send(job) {
                Ok(()) => return,
                Err(mpsc::error::SendError(job)) => job,
            },
            None => job,
        };
        let name: Arc<str> = namespace.into();
        let desk = desk::open(self.client.clone(), self.keys.clone(), name.clone());
        // A task that has just been started takes it.
        let _ = desk.send(job);
        desks.insert(name, desk);
    }
}

impl Store for EtcdStore {
    fn is_durable(&self) -> bool {
        true
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRecord>> {
        async move { Ok(load::namespaces(&self.client, &self.keys).await?) }.boxed()
    }

    fn create(&self, record: NamespaceRecord, initial: Vec<Write>) -> Answer<'_, ()> {
        let name = Arc::clone(&record.name);
        self.ask(&name, |answer| Job::Create(record, initial, answer))
    }

    fn delete(&self, namespace: &str) -> Answer<'_, ()> {
        self.ask(namespace, Job::Delete)
    }

    fn lead(&self, namespace: &str) -> Answer<'_, Epoch> {
        self.ask(namespace, Job::Lead)
    }

    fn load(&self, namespace: &str) -> Answer<'_, Stored> {
        self.ask(namespace, Job::Load)
    }

    fn commit(&self, namespace: &str, epoch: Epoch, writes: Vec<Write>) -> Answer<'_, ()> {
        self.ask(namespace, |answer| Job::Commit(epoch, writes, answer))
    }
}
