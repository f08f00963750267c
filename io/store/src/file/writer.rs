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
use super::tables::{Tables, Verdict};
use crate::record::{NamespaceRecord, Write};
use crate::{Epoch, Error};

/// Bounds how long the first of a group waits for the last: a write to a tree of a
/// million shards takes some 12 µs.
const WRITES_A_GROUP: usize = 1024;

#[derive(Debug)]
pub(super) enum Change {
    Create { record: NamespaceRecord, initial: Vec<Write> },
    Delete { namespace: Arc<str> },
    Lead { namespace: Arc<str> },
    Commit { namespace: Arc<str>, epoch: Epoch, writes: Vec<Write> },
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
    pub(super) fn start(disk: Arc<Disk>) -> Result<Self, Error> {
        let (orders, waiting) = mpsc::channel();
        let named = thread::Builder::new().name("plimsoll-store".into());
        let failing = Arc::clone(&disk);
        let thread = named.spawn(move || run(&disk, &waiting)).map_err(|e| failing.fault(e))?;
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

fn run(disk: &Disk, waiting: &Receiver<Order>) {
    while let Ok(first) = waiting.recv() {
        settle(disk, gather(first, waiting));
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

fn settle(disk: &Disk, group: Vec<Order>) {
    let verdicts = disk.run(|database| commit(database, &group));
    let mut verdicts = match verdicts {
        Ok(verdicts) => verdicts.into_iter(),
        Err(fault) => vec![Err(fault); group.len()].into_iter(),
    };
    for (order, verdict) in group.into_iter().zip(&mut verdicts) {
        // Whoever no longer listens does not want to know.
        drop(order.settled.send(verdict));
    }
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
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Create { initial: writes, .. } | Self::Commit { writes, .. } => 1 + writes.len(),
            Self::Delete { .. } | Self::Lead { .. } => 1,
        }
    }
}
