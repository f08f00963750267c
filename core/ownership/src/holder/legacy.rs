//! What stopped shards leave to their next owners, until the server has it: the
//! stream on which it was said may break, and nobody else knows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Holder, Holding, Outgoing};
use crate::message::State;

/// What may not have been heard. Never of a shard that is held.
#[derive(Debug, Default)]
pub(super) struct Legacies {
    all: BTreeMap<Arc<str>, Legacy>,
}

#[derive(Clone, Debug)]
struct Legacy {
    /// The stop was the end of every grant up to this.
    generation: u64,
    state: State,
    /// The last beat before it: whoever hears a later one has heard this.
    beat: u64,
}

impl Legacies {
    /// The shard is granted again, or what it left is of no use.
    pub(super) fn forget(&mut self, shard: &str) {
        self.all.remove(shard);
    }

    /// The lease is over: others may have run the shards since.
    pub(super) fn forget_all(&mut self) {
        self.all.clear();
    }

    /// A beat of the present stream was heard.
    pub(super) fn heard(&mut self, beat: u64) {
        self.all.retain(|_, legacy| legacy.beat >= beat);
    }

    /// As a hello names shards that have not stopped for good.
    pub(super) fn holdings(&self) -> impl Iterator<Item = Holding> {
        self.all.iter().map(|(shard, legacy)| Holding {
            shard: Arc::clone(shard),
            generation: legacy.generation,
            stopping: true,
        })
    }
}

impl Holder {
    /// A shard has stopped and leaves this.
    pub(super) fn leave_legacy(&mut self, shard: &Arc<str>, generation: u64, state: State) {
        let legacy = Legacy { generation, state, beat: self.sequence };
        self.legacies.all.insert(Arc::clone(shard), legacy);
    }

    /// Says on a fresh stream, after its hello, what may be lost with the one
    /// before: as if the shards had stopped only now.
    pub(super) fn say_legacies(&mut self) {
        for (shard, Legacy { generation, state, .. }) in self.legacies.all.clone() {
            self.say(Outgoing::Stopped { shard, generation, error: None, state: Some(state) });
        }
    }
}
