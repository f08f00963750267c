//! A ledger that is kept plans as one that is made anew.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use plimsoll_placement::Ledger;
use plimsoll_placement::plan::Plan;
use plimsoll_placement::policy::Policy;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ExecutorView, Load, ShardIndex, ShardView, View};

use super::views::{NOW, any_executor_view, any_load, any_policy, any_scope, any_shard, any_view};

/// More than a view has, so that some have gone and some have never been.
const EXECUTORS: u32 = 10;
const SHARDS: u32 = 70;

/// What may happen between two cycles.
#[derive(Clone, Debug)]
enum Change {
    Load(u32, Load),
    Shard(u32, ShardView),
    NoShard(u32),
    Executor(u32, ExecutorView),
    NoExecutor(u32),
    /// The plan is carried out, or as many of its moves.
    Moves(usize),
    Nothing,
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0..SHARDS, any_load()).prop_map(|(shard, load)| Change::Load(shard, load)),
        2 => (0..SHARDS, any_shard(EXECUTORS as usize))
            .prop_map(|(shard, view)| Change::Shard(shard, view)),
        1 => (0..SHARDS).prop_map(Change::NoShard),
        1 => (0..EXECUTORS, any_executor_view())
            .prop_map(|(executor, view)| Change::Executor(executor, view)),
        1 => (0..EXECUTORS).prop_map(Change::NoExecutor),
        3 => (0..40usize).prop_map(Change::Moves),
        1 => Just(Change::Nothing),
    ]
}

/// Everything that is there, as the caller knows it.
struct World {
    executors: Vec<Option<ExecutorView>>,
    shards: Vec<Option<ShardView>>,
}

impl World {
    fn of(view: View) -> Self {
        let mut executors: Vec<_> = view.executors.into_iter().map(Some).collect();
        let mut shards: Vec<_> = view.shards.into_iter().map(Some).collect();
        executors.resize(EXECUTORS as usize, None);
        shards.resize(SHARDS as usize, None);
        Self { executors, shards }
    }

    fn change(&mut self, change: Change, last: Option<&Plan>, now: Time) {
        match change {
            Change::Load(shard, load) => {
                if let Some(shard) = &mut self.shards[shard as usize] {
                    shard.load = Some(load);
                }
            }
            Change::Shard(shard, view) => self.shards[shard as usize] = Some(named(shard, view)),
            Change::NoShard(shard) => self.shards[shard as usize] = None,
            Change::Executor(executor, view) => {
                let id = format!("executor-{executor}").into();
                self.executors[executor as usize] = Some(ExecutorView { id, ..view });
            }
            Change::NoExecutor(executor) => {
                self.executors[executor as usize] = None;
                for shard in self.shards.iter_mut().flatten() {
                    shard.owner = shard.owner.filter(|owner| owner.0 != executor);
                }
            }
            Change::Moves(count) => {
                for step in last.into_iter().flat_map(|plan| &plan.moves).take(count) {
                    if let Some(shard) = &mut self.shards[step.shard.0 as usize] {
                        (shard.owner, shard.moved_at) = (Some(step.to), Some(now));
                    }
                }
            }
            Change::Nothing => {}
        }
        let there = |owner: &ExecutorIndex| self.executors[owner.0 as usize].is_some();
        for shard in self.shards.iter_mut().flatten() {
            shard.owner = shard.owner.filter(there);
        }
    }

    /// Tells a ledger of what there is; what it knows already is no news.
    fn tell(&self, ledger: &mut Ledger) {
        for (index, executor) in (0u32..).map(ExecutorIndex).zip(&self.executors) {
            match executor {
                Some(executor) => ledger.set_executor(index, executor.clone()),
                None => ledger.remove_executor(index),
            }
        }
        for (index, shard) in (0u32..).map(ShardIndex).zip(&self.shards) {
            match shard {
                Some(shard) => ledger.set_shard(index, shard),
                None => ledger.remove_shard(index),
            }
        }
    }
}

fn named(key: u32, shard: ShardView) -> ShardView {
    ShardView { key_hash: plimsoll_placement::ring::key_hash(&key.to_string()), ..shard }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_kept_ledger_plans_as_one_made_anew(
        view in any_view(),
        policy in any_policy(),
        changes in vec((vec(any_change(), 0..5), any_scope(), 0..40u64), 1..12),
    ) {
        let (mut world, mut kept) = (World::of(view), Ledger::new(policy));
        let (mut now, mut last) = (NOW, None);
        for (changes, scope, seconds) in changes {
            now += std::time::Duration::from_secs(seconds);
            for change in changes {
                world.change(change, last.as_ref(), now);
            }
            world.tell(&mut kept);
            let mut anew = Ledger::new(policy);
            world.tell(&mut anew);
            let plan = kept.plan(now, scope);
            prop_assert_eq!(exactly(&plan), exactly(&anew.plan(now, scope)));
            last = Some(plan);
        }
    }

    #[test]
    fn a_load_alone_is_the_same_news_as_its_shard(
        view in any_view(),
        policy in any_policy(),
        loads in vec(option::of(any_load()), 60),
    ) {
        let (mut whole, mut alone) = (Ledger::of(&view, policy), Ledger::of(&view, policy));
        for ((index, shard), load) in (0u32..).map(ShardIndex).zip(&view.shards).zip(loads) {
            if let Some(load) = load {
                whole.set_shard(index, &ShardView { load: Some(load), ..*shard });
                alone.set_load(index, load);
            }
        }
        let scope = plimsoll_placement::plan::Scope::Full;
        prop_assert_eq!(exactly(&whole.plan(NOW, scope)), exactly(&alone.plan(NOW, scope)));
    }
}

/// Every bit of it: two floats that print alike are the same.
fn exactly(plan: &Plan) -> String {
    format!("{plan:?}")
}

#[test]
fn while_nothing_changes_the_plan_is_the_last_one() {
    let view = View {
        executors: [1.0, 2.0]
            .map(|capacity| ExecutorView {
                capacity,
                ..ExecutorView::new(
                    format!("executor-{capacity}"),
                    plimsoll_placement::view::Candidacy::Open,
                )
            })
            .to_vec(),
        shards: (0..30)
            .map(|key| ShardView {
                owner: Some(ExecutorIndex(0)),
                load: Some(Load::exactly(1.0)),
                ..named(key, ShardView::new(0))
            })
            .collect(),
    };
    let scope = plimsoll_placement::plan::Scope::Full;
    let mut ledger = Ledger::of(&view, Policy::default());
    let first = ledger.plan(NOW, scope);
    assert!(!first.moves.is_empty());
    assert_eq!(
        exactly(&first),
        exactly(&ledger.plan(NOW + std::time::Duration::from_secs(9), scope))
    );
    for step in &first.moves {
        let shard = view.shards[step.shard.0 as usize];
        ledger.set_shard(
            step.shard,
            &ShardView { owner: Some(step.to), moved_at: Some(NOW), ..shard },
        );
    }
    assert_ne!(exactly(&first), exactly(&ledger.plan(NOW, scope)));
}
