//! Making ready for shards that are about to come, while their owners serve on.
//!
//! A preparation is no ownership: it ends without a word when the shard is
//! granted, when the server takes it back, or when the executor goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::{Action, Holder, Intent, Outgoing};
use crate::message::Preparation;

/// A shard that is being made ready.
#[derive(Clone, Debug)]
pub(super) struct Preparing {
    /// The generation that the driver knows it by.
    instance: u64,
    /// The generation that the server asked for last.
    generation: u64,
    ready: bool,
}

impl Holder {
    /// The preparation of a shard came to an end; `Err` says why it failed.
    pub fn prepared(
        &mut self,
        now: Time,
        shard: &str,
        generation: u64,
        outcome: Result<(), String>,
    ) {
        self.expire(now);
        let Some((shard, it)) = self.preparing.get_key_value(shard) else { return };
        if it.instance != generation || it.ready {
            return;
        }
        let shard = Arc::clone(shard);
        match outcome {
            Ok(()) => self.ready(&shard),
            Err(error) => self.cannot(&shard, error),
        }
    }

    fn ready(&mut self, shard: &Arc<str>) {
        let Some(it) = self.preparing.get_mut(shard) else { return };
        it.ready = true;
        let generation = it.generation;
        self.say(Outgoing::Prepared { shard: Arc::clone(shard), generation, error: None });
    }

    fn cannot(&mut self, shard: &Arc<str>, error: String) {
        let Some(it) = self.preparing.remove(shard) else { return };
        let (shard, generation) = (Arc::clone(shard), it.generation);
        self.say(Outgoing::Prepared { shard, generation, error: Some(error) });
    }

    pub(super) fn prepare_all(&mut self, preparations: Vec<Preparation>) {
        for preparation in preparations {
            self.prepare(preparation);
        }
    }

    /// What a welcome names, and nothing else.
    pub(super) fn prepare_only(&mut self, preparations: Vec<Preparation>) {
        let named: BTreeSet<_> = preparations.iter().map(|it| Arc::clone(&it.shard)).collect();
        let others = self.preparing.keys().filter(|shard| !named.contains(*shard)).cloned();
        for shard in others.collect::<Vec<_>>() {
            self.abandon(&shard);
        }
        self.prepare_all(preparations);
    }

    fn prepare(&mut self, preparation: Preparation) {
        let Preparation { shard, generation } = preparation;
        if self.intent != Intent::Serve {
            let error = Some("the executor is leaving".to_owned());
            return self.say(Outgoing::Prepared { shard, generation, error });
        }
        match self.preparing.get_mut(&shard) {
            Some(it) => {
                it.generation = generation;
                if it.ready {
                    self.ready(&shard);
                }
            }
            // What is left of an earlier instance must go first: the grant will
            // wait for that.
            None if self.shards.contains_key(&shard) => {
                self.say(Outgoing::Prepared { shard, generation, error: None });
            }
            None => self.begin_preparing(shard, generation),
        }
    }

    fn begin_preparing(&mut self, shard: Arc<str>, generation: u64) {
        let it = Preparing { instance: generation, generation, ready: false };
        self.preparing.insert(Arc::clone(&shard), it);
        self.actions.push_back(Action::Prepare(Preparation { shard, generation }));
    }

    pub(super) fn abandon_these(&mut self, preparations: Vec<Preparation>) {
        for Preparation { shard, generation } in preparations {
            if self.preparing.get(&shard).is_some_and(|it| it.generation <= generation) {
                self.abandon(&shard);
            }
        }
    }

    pub(super) fn abandon_all(&mut self) {
        for shard in self.preparing.keys().cloned().collect::<Vec<_>>() {
            self.abandon(&shard);
        }
    }

    fn abandon(&mut self, shard: &Arc<str>) {
        if let Some(it) = self.preparing.remove(shard) {
            let (shard, generation) = (Arc::clone(shard), it.instance);
            self.actions.push_back(Action::Abandon(Preparation { shard, generation }));
        }
    }
}
