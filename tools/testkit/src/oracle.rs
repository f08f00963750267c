//! Watches every executor of a test at once. It knows nothing of leases or of
//! servers: it is told when an application begins to run a shard and when it has
//! ended, and two at once are a failure, whoever had good reasons.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

/// One run of a shard, from the call of `start` to the end of `stop`.
#[derive(Clone, Debug)]
pub struct Run {
    pub shard: String,
    pub executor: String,
    /// 0: a Go executor, which knows none.
    pub generation: u64,
    pub from: Instant,
    pub to: Option<Instant>,
}

/// Who ran what and when, by the executors' own account.
#[derive(Debug, Default)]
pub struct Oracle {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    runs: Vec<Run>,
    /// The runs that have not ended, by shard.
    open: BTreeMap<String, Vec<usize>>,
    highest: BTreeMap<String, u64>,
    faults: Vec<String>,
}

impl Oracle {
    /// An oracle that has seen nothing.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// An executor begins to run a shard.
    pub fn started(&self, executor: &str, shard: &str, generation: u64) {
        let seen = &mut *self.seen.lock();
        let now = Instant::now();
        for other in seen.open.get(shard).into_iter().flatten() {
            let Run { executor: first, generation: earlier, .. } = &seen.runs[*other];
            seen.faults.push(format!(
                "{executor} starts shard {shard} (generation {generation}) while {first} runs it ({earlier})"
            ));
        }
        let highest = seen.highest.entry(shard.to_owned()).or_default();
        if generation > 0 && generation <= *highest {
            seen.faults.push(format!(
                "{executor} starts shard {shard} with generation {generation} after {highest}"
            ));
        }
        *highest = generation.max(*highest);
        seen.open.entry(shard.to_owned()).or_default().push(seen.runs.len());
        let (shard, executor) = (shard.to_owned(), executor.to_owned());
        seen.runs.push(Run { shard, executor, generation, from: now, to: None });
    }

    /// An executor has ended a shard.
    pub fn stopped(&self, executor: &str, shard: &str) {
        self.end(executor, |run| run.shard == shard);
    }

    /// A process has died: nothing runs there any more.
    pub fn died(&self, executor: &str) {
        self.end(executor, |_| true);
    }

    fn end(&self, executor: &str, which: impl Fn(&Run) -> bool) {
        let Seen { runs, open, .. } = &mut *self.seen.lock();
        for indices in open.values_mut() {
            indices.retain(|index| {
                let run = &mut runs[*index];
                let ends = run.executor == executor && which(run);
                if ends {
                    run.to = Some(Instant::now());
                }
                !ends
            });
        }
    }

    /// Who runs each shard now.
    pub fn running(&self) -> BTreeMap<String, String> {
        let seen = self.seen.lock();
        let open = seen.open.iter().filter_map(|(shard, runs)| Some((shard, runs.last()?)));
        open.map(|(shard, run)| (shard.clone(), seen.runs[*run].executor.clone())).collect()
    }

    /// Who runs a shard now.
    pub fn runner(&self, shard: &str) -> Option<String> {
        self.running().remove(shard)
    }

    /// How many shards an executor runs now.
    pub fn count(&self, executor: &str) -> usize {
        self.running().values().filter(|runner| *runner == executor).count()
    }

    /// Every run there was, in order of begin.
    pub fn runs(&self) -> Vec<Run> {
        self.seen.lock().runs.clone()
    }

    /// What must never happen and did.
    pub fn faults(&self) -> Vec<String> {
        self.seen.lock().faults.clone()
    }

    /// # Panics
    /// A shard ran twice at once, or a generation did not grow.
    pub fn assert_clean(&self) {
        let faults = self.faults();
        assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_once_are_a_fault_and_one_after_the_other_are_none() {
        let oracle = Oracle::default();
        oracle.started("a", "1", 1);
        oracle.stopped("a", "1");
        oracle.started("b", "1", 2);
        oracle.assert_clean();
        oracle.started("a", "1", 3);
        assert_eq!(oracle.faults().len(), 1);
    }

    #[test]
    fn a_generation_that_does_not_grow_is_a_fault() {
        let oracle = Oracle::default();
        oracle.started("a", "1", 5);
        oracle.died("a");
        oracle.started("b", "1", 5);
        assert_eq!(oracle.faults().len(), 1);
    }

    #[test]
    fn the_dead_run_nothing() {
        let oracle = Oracle::default();
        oracle.started("a", "1", 1);
        oracle.started("a", "2", 2);
        oracle.died("a");
        assert!(oracle.running().is_empty());
        assert!(oracle.runs().iter().all(|run| run.to.is_some()));
    }
}
