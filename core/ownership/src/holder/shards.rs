//! Starting and stopping, and what is said of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::held::{Held, Phase};
use super::{Action, Holder, Holding, Intent, Outgoing, StopReason};
use crate::message::{Grant, State};

impl Holder {
    /// Starts a shard that is not held. An executor that parts gives it back, by
    /// a word of its own or with its goodbye.
    pub(super) fn start(&mut self, grant: Grant) {
        match self.intent {
            Intent::Serve | Intent::Leave => {
                self.preparing.remove(&grant.shard);
                self.legacies.forget(&grant.shard);
                let held = Held::starting(grant.generation);
                self.shards.insert(Arc::clone(&grant.shard), held);
                self.actions.push_back(Action::Start(grant));
            }
            Intent::Part { returning: true } => {}
            Intent::Part { returning: false } | Intent::End(_) | Intent::Over => {
                self.confirm(grant.shard, grant.generation, None);
            }
        }
    }

    pub(super) fn run(&mut self, shard: &Arc<str>) {
        let Some(held) = self.shards.get_mut(shard) else { return };
        held.phase = Phase::Running;
        let (generation, done) = (held.generation, held.done);
        self.say(Outgoing::Started { shard: Arc::clone(shard), generation });
        if done {
            self.say_done(shard);
        }
    }

    pub(super) fn stop(&mut self, shard: &Arc<str>, reason: StopReason) {
        let Some(held) = self.shards.get_mut(shard) else { return };
        if held.stop(true) {
            let (shard, generation) = (Arc::clone(shard), held.instance);
            self.actions.push_back(Action::Stop { shard, generation, reason });
        }
    }

    pub(super) fn stop_all(&mut self, reason: &StopReason) {
        self.stop_all_but_these(&BTreeSet::new(), reason);
    }

    pub(super) fn stop_all_but(&mut self, grants: &[Grant]) {
        let granted = grants.iter().map(|grant| &*grant.shard).collect();
        self.stop_all_but_these(&granted, &StopReason::NotGranted);
    }

    fn stop_all_but_these(&mut self, kept: &BTreeSet<&str>, reason: &StopReason) {
        let tells = self.intent != Intent::Part { returning: true };
        for (shard, held) in &mut self.shards {
            if kept.contains(&**shard) {
                continue;
            }
            held.drop_waiting();
            if held.stop(tells) {
                let (shard, generation) = (Arc::clone(shard), held.instance);
                self.actions.push_back(Action::Stop { shard, generation, reason: reason.clone() });
            }
        }
    }

    pub(super) fn confirm(&mut self, shard: Arc<str>, generation: u64, state: Option<State>) {
        self.say(Outgoing::Stopped { shard, generation, error: None, state });
    }

    pub(super) fn say_done(&mut self, shard: &str) {
        if let Some((shard, held)) = self.shards.get_key_value(shard) {
            let (shard, generation) = (Arc::clone(shard), held.generation);
            self.say(Outgoing::Done { shard, generation });
        }
    }

    /// Says again what may have been lost with the stream before.
    pub(super) fn announce_running(&mut self) {
        let running: Vec<_> = self
            .shards
            .iter()
            .filter(|(_, held)| held.is_running())
            .map(|(shard, _)| Arc::clone(shard))
            .collect();
        for shard in running {
            self.run(&shard);
        }
    }

    pub(super) fn holdings(&self) -> Vec<Holding> {
        let held = self.shards.iter().map(|(shard, held)| Holding {
            shard: Arc::clone(shard),
            generation: held.generation,
            stopping: held.is_stopping(),
        });
        held.chain(self.legacies.holdings()).collect()
    }
}
