//! Why a shard is where it is, and why it does not move; and what holds up the
//! namespace as a whole. Sentences, the same for `smctl` and the console.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::ids::{ExecutorId, ShardId};
use crate::measured::Smoothing;
use crate::record::DrainRecord;
use crate::shard::{Next, Phase, Shard};

/// A revocation that takes longer than this is told to people.
const SLOW_STOP: Duration = Duration::from_secs(5);

/// One shard, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub phase: &'static str,
    pub owner: Option<Arc<str>>,
    pub generation: u64,
    /// `None`: not measured yet.
    pub smoothed_load: Option<f64>,
    /// When the phase began.
    pub since: Time,
    pub because: String,
    pub outlook: String,
    pub drain: Option<DrainRecord>,
}

impl Namespace {
    /// Explains a shard; `None` if there is none of that key, drained or not.
    pub fn explain(&self, now: Time, key: &str) -> Option<Explanation> {
        let drain = self.drained_shards.get(key).cloned();
        let Some(id) = self.shard_id(key) else {
            return drain.map(|drain| self.explain_drained(now, drain));
        };
        let shard = self.shard(id)?;
        let owner = shard.owner.and_then(|owner| self.executor(owner));
        Some(Explanation {
            phase: shard.phase.as_str(),
            owner: owner.map(|executor| executor.id.clone()),
            generation: shard.generation,
            smoothed_load: self.load_of(now, shard),
            since: shard.since,
            because: owner.map_or_else(String::new, |_| shard.because.sentence().to_owned()),
            outlook: self.outlook(now, id, shard),
            drain,
        })
    }

    /// Why shards wait or hosts are held back, one sentence each; none: all well.
    pub fn conditions(&self, now: Time) -> Vec<String> {
        let mut all = Vec::new();
        all.extend(self.recovery_condition(now));
        all.extend(self.mass_failure_condition(now));
        all.extend(self.unplaced_condition());
        all.extend(self.stuck_drains());
        all.extend(self.slow_stops(now));
        if self.frozen {
            all.push(
                "balance is frozen by an operator: resume it with `smctl balance resume`"
                    .to_owned(),
            );
        }
        all
    }

    pub(super) fn load_of(&self, now: Time, shard: &Shard) -> Option<f64> {
        let smoothing = Smoothing::of(&self.settings.policy);
        shard.load_at(now, smoothing).map(|load| load.smoothed)
    }

    fn explain_drained(&self, now: Time, drain: DrainRecord) -> Explanation {
        Explanation {
            phase: "unowned",
            owner: None,
            generation: 0,
            smoothed_load: None,
            since: now,
            because: String::new(),
            outlook: drained_outlook(&drain),
            drain: Some(drain),
        }
    }

    fn outlook(&self, now: Time, id: ShardId, shard: &Shard) -> String {
        if let Some(drain) = self.drained_shards.get(&shard.key) {
            return drained_outlook(drain);
        }
        match shard.phase {
            Phase::Unowned => self.unowned_outlook(now, id),
            Phase::Granting => "its grant is being stored".to_owned(),
            Phase::Releasing => "the end of its grant is being stored".to_owned(),
            Phase::Revoking { next, .. } => self.revoking_outlook(now, shard, next),
            Phase::Owned { .. } => self.owned_outlook(now, id, shard),
        }
    }

    fn unowned_outlook(&self, now: Time, id: ShardId) -> String {
        if let Some(failure) = self.failures.get(&id) {
            let wait = failure.retry_at - now;
            let (count, error) = (failure.count, &failure.error);
            return format!(
                "it failed {count} times, last: {error}; it is tried again in {wait:.1?}"
            );
        }
        if self.adopting {
            return "the server waits for executors to report what they run".to_owned();
        }
        if self.open_executors().next().is_none() {
            return "no executor can take it: none is connected that is neither drained nor leaving".to_owned();
        }
        "it is about to be placed".to_owned()
    }

    fn revoking_outlook(&self, now: Time, shard: &Shard, next: Next) -> String {
        let waited = now - shard.since;
        let owner = self.name_of(shard.owner);
        let then = match next {
            Next::To(to, _) => format!("then it goes to {}", self.name_of(Some(to))),
            Next::Anyone => "then it is placed by load".to_owned(),
            Next::Release => "then it has no owner".to_owned(),
        };
        format!("{owner} has been stopping it for {waited:.1?}; {then}")
    }

    fn owned_outlook(&self, now: Time, id: ShardId, shard: &Shard) -> String {
        if let Some(left) = shard.owner.and_then(|owner| self.away_for(now, owner)) {
            let owner = self.name_of(shard.owner);
            return format!(
                "{owner} restarts: nobody runs the shard, which is kept for it for another {left:.1?}"
            );
        }
        if let Some(preparing) = self.preparations.get(id) {
            let (to, waited) = (self.name_of(Some(preparing.to)), now - preparing.began);
            let why = preparing.reason.as_str();
            return format!(
                "{to} has been preparing it for {waited:.1?}, then it moves there ({why})"
            );
        }
        if let Some(until) = self.overlap_until.filter(|_| self.is_inherited(id)) {
            let left = until - now;
            return format!(
                "the leader before may still speak to executors: it stays for another {left:.1?}"
            );
        }
        if self.frozen {
            return "balance is frozen by an operator".to_owned();
        }
        let cooldown = self.settings.policy.per_shard_cooldown();
        if let Some(moved_at) = self.last_moved(shard).filter(|at| now - *at < cooldown) {
            let left = cooldown - (now - moved_at);
            if let Some(why) = self.preparations.why_refused(id) {
                return format!("it was to move, but {why}; it stays for another {left:.0?}");
            }
            if shard.moved_at() != Some(moved_at) {
                return format!(
                    "the leader is new and does not know when it last moved: it stays for another {left:.0?}"
                );
            }
            return format!("it moved for balance a while ago and stays for another {left:.0?}");
        }
        shard.owner.map_or_else(String::new, |owner| self.host_outlook(owner))
    }

    fn host_outlook(&self, owner: ExecutorId) -> String {
        let name = self.name_of(Some(owner));
        let Some(planned) = &self.last_cycle.planned else {
            return "no cycle has looked at it yet".to_owned();
        };
        let report = &planned.plan.report;
        let held = report.held.iter().find(|held| {
            planned.executors.get(held.executor.0 as usize).is_some_and(|id| **id == *name)
        });
        match held {
            Some(held) => held.sentence(&name, report.after.mean, &self.settings.policy),
            None => format!("{name} is not too hot: nothing asks it to move"),
        }
    }

    pub(super) fn name_of(&self, id: Option<ExecutorId>) -> Arc<str> {
        let executor = id.and_then(|id| self.executor(id));
        executor.map_or_else(|| Arc::from("an executor that is gone"), |e| e.id.clone())
    }

    fn recovery_condition(&self, now: Time) -> Option<String> {
        let left = self.recovering_until? - now;
        let waiting = self.unheard_executors().count();
        Some(match self.adopting {
            true => format!(
                "the server has just started with a store that forgets: it waits another {left:.0?} for executors to report what they run"
            ),
            false => format!(
                "the server has just started: {waiting} executors have not been heard yet, nothing is moved for balance for at most {left:.0?}"
            ),
        })
    }

    fn mass_failure_condition(&self, now: Time) -> Option<String> {
        let until = self.mass_failure_until.filter(|until| now < *until)?;
        let held = self.executors.iter().filter(|(_, e)| e.held_until.is_some()).count();
        let left = until - now;
        Some(format!(
            "{held} executors fell silent together: nothing is moved for another {left:.1?}"
        ))
    }

    fn unplaced_condition(&self) -> Option<String> {
        let unowned = self.unowned.len();
        let nobody = self.open_executors().next().is_none();
        (unowned > 0 && nobody && !self.adopting).then(|| {
            format!("{unowned} shards have no owner: no executor is connected that is neither drained nor leaving")
        })
    }

    fn stuck_drains(&self) -> Vec<String> {
        if self.open_executors().next().is_some() {
            return Vec::new();
        }
        let hosts = self.drained_hosts.keys();
        hosts
            .filter_map(|host| {
                Some(format!("the drain of {host} waits: {}", self.drain_waits_for(host)?))
            })
            .collect()
    }

    /// What keeps a drained host from being empty; `None`: it is empty.
    pub fn drain_waits_for(&self, host: &str) -> Option<String> {
        let held: Vec<_> = self.executors_on(host).flat_map(|id| self.shards_of(id)).collect();
        if held.is_empty() {
            return None;
        }
        let count = held.len();
        let stopping =
            held.iter().filter(|id| self.shard(***id).is_some_and(|s| !s.is_owned())).count();
        Some(if self.open_executors().next().is_none() {
            format!("no other executor can take its {count} shards")
        } else {
            format!("{count} shards are still there, {stopping} of them in handover")
        })
    }

    fn slow_stops(&self, now: Time) -> Vec<String> {
        let slow = self.shards.iter().filter(|(_, shard)| {
            matches!(shard.phase, Phase::Revoking { .. }) && now - shard.since > SLOW_STOP
        });
        let sentence = |shard: &Shard| {
            let (key, owner, waited) = (&shard.key, self.name_of(shard.owner), now - shard.since);
            format!("shard {key}: {owner} has been stopping it for {waited:.0?}")
        };
        slow.take(10).map(|(_, shard)| sentence(shard)).collect()
    }
}

fn drained_outlook(drain: &DrainRecord) -> String {
    let by = if drain.drained_by.is_empty() { "an operator" } else { &drain.drained_by };
    let why = if drain.reason.is_empty() { "no reason given" } else { &drain.reason };
    format!("it is drained by {by} ({why}) and runs nowhere until it is undrained")
}
