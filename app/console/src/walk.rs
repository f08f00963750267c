//! Balancing a snapshot move by move, with the planner that runs in production: the
//! demonstration of how placement works.
//!
//! Pure. A cycle runs every [`CYCLE`]; its moves are shown one at a time, each as if it
//! were carried out at once.

use std::time::Duration;

use plimsoll_placement::measures::Balance;
use plimsoll_placement::plan;
use plimsoll_placement::plan::{Scope, StopReason};
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, View};

/// From one cycle to the next. In production it is a second; here it is long enough for
/// cooldowns to end within a few steps.
pub(crate) const CYCLE: Duration = Duration::from_secs(15);
/// Cycles without a move, after which it is over: as many as a cooldown lasts, and one.
const QUIET: usize = 5;
/// Whatever happens, it is over by then.
const MOST_CYCLES: usize = 200;
const MOST_MOVES: usize = 2000;

/// A snapshot and all that a planner did with it.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    pub(crate) mode: Mode,
    pub(crate) hosts: Vec<String>,
    shards: Vec<WalkedShard>,
    moves: Vec<Moved>,
    /// Why it went no further, as a sentence.
    end: String,
}

#[derive(Clone, Debug)]
struct WalkedShard {
    key: String,
    load: f64,
    /// The position of its first host; `None`: it had none.
    host: Option<usize>,
}

#[derive(Clone, Debug)]
struct Moved {
    shard: usize,
    to: usize,
    at: Time,
    sentence: String,
}

/// How things stand after some of the moves.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) step: usize,
    /// How many steps there are; the last is the end.
    pub(crate) steps: usize,
    pub(crate) sentence: String,
    pub(crate) hosts: Vec<HostScene>,
    pub(crate) balance: Balance,
}

/// A host after some of the moves.
#[derive(Clone, Debug)]
pub(crate) struct HostScene {
    pub(crate) name: String,
    pub(crate) load: f64,
    /// The heaviest first.
    pub(crate) shards: Vec<ShardScene>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShardScene {
    pub(crate) key: String,
    pub(crate) load: f64,
    /// The part of its cooldown that is left, 0 to 1; of the move that was just made, 1.
    pub(crate) heat: f64,
}

impl Walk {
    /// Balances a snapshot to its end.
    pub(crate) fn of(snapshot: &Snapshot, mode: Mode) -> Self {
        let policy = Policy { mode, ..Policy::default() };
        let hosts = snapshot.hosts.clone();
        let mut view = snapshot.view();
        let shards = snapshot.shards.iter().zip(&view.shards).map(|(shard, seen)| WalkedShard {
            key: shard.key.clone(),
            load: shard.load,
            host: seen.owner.map(|owner| owner.0 as usize),
        });
        let mut walk =
            Self { mode, hosts, shards: shards.collect(), moves: Vec::new(), end: String::new() };
        walk.run(&mut view, &policy);
        walk
    }

    fn run(&mut self, view: &mut View, policy: &Policy) {
        let mut quiet = 0;
        for cycle in 0..MOST_CYCLES {
            // Not from the origin: what never moved must not seem to have moved then.
            let now = Time::from_millis(3_600_000) + CYCLE * u32::try_from(cycle).unwrap_or(0);
            let planned = plan(now, view, policy, Scope::Full);
            let report = &planned.report;
            let held: Vec<String> = report
                .held
                .iter()
                .filter_map(|held| {
                    let name = self.hosts.get(held.executor.0 as usize)?;
                    Some(held.sentence(name, report.after.mean, policy))
                })
                .collect();
            let stopped = report.stopped.map(|it| it.sentence(&report.after, policy));
            self.end = held.into_iter().take(3).chain(stopped).collect::<Vec<_>>().join(". ");
            for step in &planned.moves {
                self.carry_out(now, view, step);
            }
            quiet = if planned.moves.is_empty() { quiet + 1 } else { 0 };
            let is_done = quiet > 0 && report.stopped == Some(StopReason::Balanced);
            if is_done || quiet > QUIET || self.moves.len() >= MOST_MOVES {
                return;
            }
        }
    }

    fn carry_out(&mut self, now: Time, view: &mut View, step: &plimsoll_placement::plan::Move) {
        let shard = step.shard.0 as usize;
        let name =
            |index: ExecutorIndex| self.hosts.get(index.0 as usize).map_or("", String::as_str);
        let Some(walked) = self.shards.get(shard) else { return };
        let sentence = step.sentence(&walked.key, step.from.map(name), name(step.to));
        if let Some(seen) = view.shards.get_mut(shard) {
            seen.owner = Some(step.to);
            seen.moved_at = (!step.reason.is_forced()).then_some(now).or(seen.moved_at);
        }
        self.moves.push(Moved { shard, to: step.to.0 as usize, at: now, sentence });
    }

    /// The start, each move, and the end.
    pub(crate) fn steps(&self) -> usize {
        self.moves.len() + 2
    }

    /// How things stand after so many moves; the last step tells why that is the end.
    pub(crate) fn scene(&self, step: usize) -> Scene {
        let step = step.min(self.steps() - 1);
        let made = &self.moves[..step.min(self.moves.len())];
        let is_end = step > self.moves.len();
        let now = made.last().map(|last| if is_end { last.at + CYCLE } else { last.at });
        let mut places: Vec<_> = self.shards.iter().map(|shard| (shard.host, 0.0)).collect();
        for moved in made {
            let left = now.map_or(0.0, |now| self.heat(now.since(moved.at)));
            places[moved.shard] = (Some(moved.to), left);
        }
        let hosts = self.host_scenes(&places);
        let loads: Vec<_> = hosts.iter().map(|host| host.load).collect();
        Scene {
            step,
            steps: self.steps(),
            sentence: self.sentence(step, &loads),
            balance: Balance::of(&loads, 1.0),
            hosts,
        }
    }

    fn heat(&self, past: Duration) -> f64 {
        let cooldown = Policy { mode: self.mode, ..Policy::default() }.per_shard_cooldown();
        if cooldown.is_zero() {
            return if past.is_zero() { 1.0 } else { 0.0 };
        }
        (1.0 - past.as_secs_f64() / cooldown.as_secs_f64()).clamp(0.0, 1.0)
    }

    fn host_scenes(&self, places: &[(Option<usize>, f64)]) -> Vec<HostScene> {
        let empty = |name: &String| HostScene { name: name.clone(), load: 0.0, shards: Vec::new() };
        let mut hosts: Vec<_> = self.hosts.iter().map(empty).collect();
        for (shard, (host, heat)) in self.shards.iter().zip(places) {
            let Some(host) = host.and_then(|host| hosts.get_mut(host)) else { continue };
            host.load += shard.load;
            host.shards.push(ShardScene { key: shard.key.clone(), load: shard.load, heat: *heat });
        }
        for host in &mut hosts {
            host.shards.sort_by(|a, b| b.load.total_cmp(&a.load));
        }
        hosts
    }

    fn sentence(&self, step: usize, loads: &[f64]) -> String {
        match step.checked_sub(1) {
            None => self.beginning(loads),
            Some(index) => {
                self.moves.get(index).map_or_else(|| self.end.clone(), |it| it.sentence.clone())
            }
        }
    }

    fn beginning(&self, loads: &[f64]) -> String {
        let balance = Balance::of(loads, 1.0);
        let hottest = loads.iter().zip(&self.hosts).max_by(|a, b| a.0.total_cmp(b.0));
        match hottest {
            Some((_, name)) if balance.mean > 0.0 => format!(
                "the placement as it is: the hottest host, {name}, carries {:.2} of the mean",
                balance.max_over_mean()
            ),
            _ => "the placement as it is: there is no load".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seed's six hosts.
    fn six_hosts() -> Snapshot {
        Snapshot::parse(include_str!("../assets/six-hosts.csv")).unwrap()
    }

    #[test]
    fn the_demonstration_has_the_four_moves_of_the_scenario_and_ends_inside_the_bands() {
        let walk = Walk::of(&six_hosts(), Mode::Greedy);
        let steps: Vec<_> = (0..walk.steps()).map(|step| walk.scene(step)).collect();
        let path: Vec<_> =
            walk.moves.iter().map(|it| (it.to, it.sentence.contains("too hot"))).collect();
        assert_eq!(path, [(0, true), (2, true), (3, true), (1, true)]);
        let loads = |scene: &Scene| scene.hosts.iter().map(|it| it.load).collect::<Vec<_>>();
        assert_eq!(loads(&steps[0]), [50.0, 81.0, 52.0, 200.0, 81.0, 136.0]);
        assert_eq!(loads(&steps[5]), [110.0, 95.0, 112.0, 95.0, 81.0, 107.0]);
        assert!(steps[0].sentence.contains("host-4, carries 2.00 of the mean"));
        assert!(
            steps[5].sentence.contains("no host is above 1.15 of the mean"),
            "{}",
            steps[5].sentence
        );
    }

    #[test]
    fn a_moved_shard_fades_as_its_cooldown_runs_out() {
        let walk = Walk::of(&six_hosts(), Mode::Greedy);
        let heat = |step: usize| {
            let scene = walk.scene(step);
            let shards = scene.hosts[0].shards.clone();
            shards.iter().find(|shard| shard.key == "host-4.2").map(|shard| shard.heat)
        };
        assert_eq!(heat(0), None);
        assert_eq!(
            [heat(1), heat(2), heat(4), heat(5)],
            [Some(1.0), Some(0.75), Some(0.25), Some(0.0)]
        );
    }

    #[test]
    fn every_mode_comes_to_an_end() {
        for mode in Mode::ALL {
            let walk = Walk::of(&six_hosts(), mode);
            let last = walk.scene(usize::MAX);
            assert_eq!(last.step, walk.steps() - 1);
            assert!(!last.sentence.is_empty(), "{mode:?}");
            let total: f64 = last.hosts.iter().map(|host| host.load).sum();
            assert!((total - 600.0).abs() < 1e-9, "{mode:?}");
        }
    }

    #[test]
    fn an_empty_snapshot_has_a_beginning_and_an_end() {
        let walk = Walk::of(&Snapshot::default(), Mode::Adaptive);
        assert_eq!(walk.steps(), 2);
        assert!(walk.scene(0).sentence.contains("no load"));
    }
}
