//! Changes on their way to the store. What follows from a change happens when
//! the store has it and not before: so nobody is told of what a crash could undo.

use std::sync::Arc;

use crate::ids::{RequestId, ShardId};
use crate::record::{DrainRecord, Write};
use crate::settings::Settings;

#[derive(Debug, Default)]
pub(crate) struct Journal {
    open: Batch,
    in_flight: Option<Vec<Consequence>>,
}

#[derive(Debug, Default)]
struct Batch {
    writes: Vec<Write>,
    consequences: Vec<Consequence>,
}

/// What happens once the writes before it are stored.
#[derive(Debug)]
pub(crate) enum Consequence {
    Granted { shard: ShardId, generation: u64 },
    Released { shard: ShardId },
    ShardDrained { key: Arc<str>, drain: DrainRecord },
    ShardUndrained { key: Arc<str>, why: String },
    HostDrained { host: Arc<str>, drain: DrainRecord },
    HostUndrained { host: Arc<str>, why: String },
    Frozen { frozen: bool, why: String },
    Settings(Box<Settings>),
    Reset,
    Ordered { request: RequestId, changed: Vec<Arc<str>> },
}

impl Journal {
    pub(crate) fn write(&mut self, write: Write) {
        self.open.writes.push(write);
    }

    pub(crate) fn then(&mut self, consequence: Consequence) {
        self.open.consequences.push(consequence);
    }

    /// The next batch, unless one is on its way.
    pub(crate) fn take(&mut self) -> Option<Vec<Write>> {
        if self.in_flight.is_some() || self.open.is_empty() {
            return None;
        }
        let batch = std::mem::take(&mut self.open);
        self.in_flight = Some(batch.consequences);
        Some(batch.writes)
    }

    /// The batch on its way has arrived.
    pub(crate) fn arrived(&mut self) -> Vec<Consequence> {
        self.in_flight.take().unwrap_or_default()
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.consequences.is_empty()
    }
}
