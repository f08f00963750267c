//! A cluster between two cycles: what a planner sees, and what it costs to
//! change it. Refuses to plan.

use plimsoll_placement::measures::{Balance, Bound, Sum, lower_bound_over};
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, ShardIndex, View};

/// One shard to one new owner, whoever decided it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    pub shard: ShardIndex,
    pub to: ExecutorIndex,
}

/// What a change of owners came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Shards that changed their owner.
    pub moves: usize,
    /// Their load, in the unit of the loads.
    pub load: f64,
    /// Those of the moves whose shards could have stayed where they were.
    pub unforced_moves: usize,
    /// The load of those.
    pub unforced: f64,
}

impl Moved {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            moves: self.moves + other.moves,
            load: self.load + other.load,
            unforced_moves: self.unforced_moves + other.unforced_moves,
            unforced: self.unforced + other.unforced,
        }
    }
}

/// The indices of open executors, in order of position.
pub fn open(view: &View) -> Vec<ExecutorIndex> {
    let executors = (0u32..).map(ExecutorIndex).zip(&view.executors);
    executors.filter(|(_, it)| it.candidacy.is_open()).map(|(index, _)| index).collect()
}

/// What a shard counts for: its smoothed load, 0 if nobody has measured it.
pub fn load_of(view: &View, shard: ShardIndex) -> f64 {
    view.shards[shard.0 as usize].load.map_or(0.0, |load| load.smoothed)
}

/// The load of every executor, by position, when shards carry `loads`.
pub fn host_loads(view: &View, loads: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![Sum::default(); view.executors.len()];
    for (shard, load) in view.shards.iter().zip(loads) {
        if let Some(owner) = shard.owner {
            sums[owner.0 as usize].add(load);
        }
    }
    sums.into_iter().map(Sum::value).collect()
}

/// The smoothed load of every shard, by position.
pub fn shard_loads(view: &View) -> Vec<f64> {
    (0..view.shards.len() as u32).map(|shard| load_of(view, ShardIndex(shard))).collect()
}

/// Load and capacity of open executors when shards carry `loads`.
pub fn open_hosts(view: &View, loads: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    let sums = host_loads(view, loads);
    let of =
        |index: ExecutorIndex| (sums[index.0 as usize], view.executors[index.0 as usize].capacity);
    open(view).into_iter().map(of).collect()
}

/// How even open executors are when shards carry `loads`, per unit of capacity.
pub fn balance_with(view: &View, loads: impl IntoIterator<Item = f64>) -> Balance {
    Balance::per_capacity(&open_hosts(view, loads), 1.0)
}

/// How even open executors are by smoothed load, per unit of capacity.
pub fn balance(view: &View) -> Balance {
    balance_with(view, shard_loads(view))
}

/// How even open executors could be at best when shards carry `loads`.
pub fn bound_with(view: &View, loads: impl IntoIterator<Item = f64>) -> Bound {
    let capacity = |index: ExecutorIndex| view.executors[index.0 as usize].capacity;
    let capacities: Vec<f64> = open(view).into_iter().map(capacity).collect();
    lower_bound_over(loads, &capacities)
}

/// How even open executors could be at best, by smoothed load.
pub fn bound(view: &View) -> Bound {
    bound_with(view, shard_loads(view))
}

/// Carries steps out with every handover done at once. A shard that could have
/// stayed has moved for balance: its cooldown starts at `now`.
pub fn apply(view: &mut View, steps: &[Step], now: Time) -> Moved {
    let mut moved = Moved::default();
    for step in steps {
        let load = load_of(view, step.shard);
        let could_stay = may_stay(view, step.shard);
        let shard = &mut view.shards[step.shard.0 as usize];
        if shard.owner == Some(step.to) {
            continue;
        }
        let placed = shard.owner.replace(step.to).is_some();
        if could_stay {
            shard.moved_at = Some(now);
            moved.unforced_moves += 1;
            moved.unforced += load;
        }
        if placed {
            moved.moves += 1;
            moved.load += load;
        }
    }
    moved
}

/// Whether nothing forces it from its owner.
fn may_stay(view: &View, shard: ShardIndex) -> bool {
    let owner = view.shards[shard.0 as usize].owner;
    owner.is_some_and(|owner| !view.executors[owner.0 as usize].candidacy.must_empty())
}

/// Closes an executor: whatever it has must go.
pub fn drain(view: &mut View, host: ExecutorIndex) {
    view.executors[host.0 as usize].candidacy = Candidacy::Drained;
}

/// Opens an executor that was closed or has just come; one that is open stays as
/// it is.
pub fn reopen(executor: &mut ExecutorView, now: Time) {
    if !executor.candidacy.is_open() {
        executor.candidacy = Candidacy::Open;
        executor.opened_at = Some(now);
    }
}

/// Adds an executor of that name with nothing on it.
pub fn add_host(view: &mut View, id: &str, now: Time) -> ExecutorIndex {
    let mut executor = ExecutorView::new(id, Candidacy::Open);
    executor.opened_at = Some(now);
    view.executors.push(executor);
    ExecutorIndex(view.executors.len() as u32 - 1)
}

/// The open executor with the most load per unit of capacity; the first of equals.
pub fn hottest(view: &View) -> Option<ExecutorIndex> {
    let loads = open_hosts(view, shard_loads(view)).into_iter().map(|(load, size)| load / size);
    let hosts = open(view).into_iter().zip(loads);
    hosts.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(host, _)| host)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use plimsoll_placement::view::{Load, ShardView};

    /// Open hosts called "0", "1", ... with shards of these loads.
    pub(crate) fn view(hosts: &[&[f64]]) -> View {
        let name = |host: usize| ExecutorView::new(host.to_string(), Candidacy::Open);
        let shards = (0u32..).zip(hosts).flat_map(|(host, loads)| {
            loads.iter().map(move |&load| (Some(ExecutorIndex(host)), load))
        });
        View {
            executors: (0..hosts.len()).map(name).collect(),
            shards: shards.zip(0..).map(|((owner, load), key)| shard(key, owner, load)).collect(),
        }
    }

    fn shard(key: u64, owner: Option<ExecutorIndex>, load: f64) -> ShardView {
        ShardView { owner, load: Some(Load::exactly(load)), ..ShardView::new(key) }
    }

    fn step(shard: u32, to: u32) -> Step {
        Step { shard: ShardIndex(shard), to: ExecutorIndex(to) }
    }

    #[test]
    fn hosts_weigh_what_their_shards_do_per_unit_of_capacity() {
        let mut view = view(&[&[3.0, 1.0], &[2.0], &[]]);
        view.executors[0].capacity = 2.0;
        assert_eq!(host_loads(&view, shard_loads(&view)), [4.0, 2.0, 0.0]);
        assert_eq!(open_hosts(&view, shard_loads(&view)), [(4.0, 2.0), (2.0, 1.0), (0.0, 1.0)]);
        assert_eq!(balance(&view).max, 2.0);
    }

    #[test]
    fn a_closed_host_counts_for_nothing() {
        let mut view = view(&[&[9.0], &[2.0], &[4.0]]);
        assert_eq!(hottest(&view), Some(ExecutorIndex(0)));
        drain(&mut view, ExecutorIndex(0));
        assert_eq!(hottest(&view), Some(ExecutorIndex(2)));
        assert_eq!(balance(&view).mean, 3.0);
    }

    #[test]
    fn every_move_counts_and_only_those_that_could_stay_are_unforced() {
        let mut view = view(&[&[9.0], &[2.0, 1.0], &[]]);
        drain(&mut view, ExecutorIndex(0));
        let moved = apply(&mut view, &[step(0, 2), step(1, 2), step(2, 1)], Time::from_millis(5));
        assert_eq!(moved, Moved { moves: 2, load: 11.0, unforced_moves: 1, unforced: 2.0 });
        assert_eq!(view.shards[0].moved_at, None);
        assert_eq!(view.shards[1].moved_at, Some(Time::from_millis(5)));
        assert_eq!(view.shards[2].moved_at, None);
    }

    #[test]
    fn placing_what_nobody_had_is_no_move() {
        let mut view = view(&[&[1.0], &[]]);
        view.shards[0].owner = None;
        assert_eq!(apply(&mut view, &[step(0, 1)], Time::ZERO), Moved::default());
        assert_eq!(view.shards[0].owner, Some(ExecutorIndex(1)));
    }
}
