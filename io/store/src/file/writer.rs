//! Group commit: one thread, one transaction for everything that waits.
//!
//! A flush to the disk costs the same for one change as for a thousand. While one
//! group is being made durable the next one gathers; nobody waits on purpose. Each
//! change is judged on its own, in the order of arrival.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use redb::{Database, Durability};
use tokio::sync::oneshot;

use super::disk::Disk;
use super::policies;
use super::tables::{Tables, Verdict};
use crate::local_watch::LocalWatch;
use crate::record::{NamespaceRecord, Write};
use crate::{Epoch, Error, PolicyRecord};

/// Bounds how long the first of a group waits for the last: a write to a tree of a
/// million shards takes some 12 µs.
const WRITES_A_GROUP: usize = 1024;

#[derive(Debug)]
pub(super) enum Change {
    Create { record: NamespaceRecord, initial: Vec<Write> },
    Delete { namespace: Arc<str> },
    Lead { namespace: Arc<str> },
    Commit { namespace: Arc<str>, epoch: Epoch, writes: Vec<Write> },
    SavePolicy { after: u64, record: PolicyRecord },
    ForgetPolicy { service: Arc<str> },
}

struct Order {
    change: Change,
    settled: oneshot::Sender<Verdict>,
}

/// The handle of the thread. Dropping it lets the thread finish what it was given.
pub(super) struct Writer {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(disk: Arc<Disk>, watch: Arc<LocalWatch>) -> Result<Self, Error> {
        let (orders, waiting) = mpsc::channel();
        let named = thread::Builder::new().name("plimsoll-store".into());
        let failing = Arc::clone(&disk);
        let run = move || run(&disk, &watch, &waiting);
        let thread = named.spawn(run).map_err(|e| failing.fault(e))?;
        Ok(Self { orders: Some(orders), thread: Some(thread) })
    }

    /// Hands a change over. The receiver fails if the thread is gone.
    pub(super) fn submit(&self, change: Change) -> oneshot::Receiver<Verdict> {
        let (settled, verdict) = oneshot::channel();
        if let Some(orders) = &self.orders {
            // A failed send drops `settled`, which is how the receiver learns of it.
            drop(orders.send(Order { change, settled }));
        }
        verdict
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the store's writer had panicked; what it was given last may be lost");
        }
    }
}

fn run(disk: &Disk, watch: &LocalWatch, waiting: &Receiver<Order>) {
    while let Ok(first) = waiting.recv() {
        let group = gather(first, waiting);
        let about_policies = group.iter().any(|order| order.change.is_about_policies());
        let answers = settle(disk, group);
        if about_policies {
            tell(disk, watch);
        }
        answers.into_iter().for_each(Answer::send);
    }
}

/// Reads what holds now: after a failure nobody knows it otherwise.
fn tell(disk: &Disk, watch: &LocalWatch) {
    match disk.run(policies::newest) {
        Ok(newest) => watch.tell(newest),
        Err(error) => {
            tracing::warn!(%error, "the newest policies cannot be read: they are told with the next change")
        }
    }
}

fn gather(first: Order, waiting: &Receiver<Order>) -> Vec<Order> {
    let mut writes = first.change.weight();
    let mut group = vec![first];
    while writes < WRITES_A_GROUP {
        let Ok(next) = waiting.try_recv() else { break };
        writes += next.change.weight();
        group.push(next);
    }
    group
}

/// What became of a change, for whoever asked for it.
struct Answer {
    settled: oneshot::Sender<Verdict>,
    verdict: Verdict,
}

impl Answer {
    fn send(self) {
        // Whoever no longer listens does not want to know.
        drop(self.settled.send(self.verdict));
    }
}

fn settle(disk: &Disk, group: Vec<Order>) -> Vec<Answer> {
    let verdicts = disk.run(|database| commit(database, &group));
    let verdicts = verdicts.unwrap_or_else(|fault| vec![Err(fault); group.len()]);
    let answers = group.into_iter().zip(verdicts);
    answers.map(|(Order { settled, .. }, verdict)| Answer { settled, verdict }).collect()
}

/// One verdict an order. Flushes only if there is something to keep.
fn commit(database: &Database, group: &[Order]) -> Result<Vec<Verdict>, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    let verdicts = judge(&mut Tables::open(&transaction)?, group)?;
    match verdicts.iter().any(Result::is_ok) {
        true => transaction.commit()?,
        false => transaction.abort()?,
    }
    Ok(verdicts)
}

fn judge(tables: &mut Tables<'_>, group: &[Order]) -> Result<Vec<Verdict>, redb::Error> {
    group.iter().map(|order| order.change.apply(tables)).collect()
}

impl Change {
    fn apply(&self, tables: &mut Tables<'_>) -> Result<Verdict, redb::Error> {
        match self {
            Self::Create { record, initial } => tables.create(record, initial),
            Self::Delete { namespace } => tables.delete(namespace),
            Self::Lead { namespace } => tables.lead(namespace),
            Self::Commit { namespace, epoch, writes } => tables.commit(namespace, *epoch, writes),
            Self::SavePolicy { after, record } => tables.policies.save(*after, record),
            Self::ForgetPolicy { service } => tables.policies.forget(service),
        }
    }

    fn is_about_policies(&self) -> bool {
        matches!(self, Self::SavePolicy { .. } | Self::ForgetPolicy { .. })
    }

    fn weight(&self) -> usize {
        match self {
            Self::Create { initial: writes, .. } | Self::Commit { writes, .. } => 1 + writes.len(),
            Self::Delete { .. } | Self::Lead { .. } | Self::ForgetPolicy { .. } => 1,
            // A text may be as large as this many writes.
            Self::SavePolicy { .. } => WRITES_A_GROUP / 16,
        }
    }
}
