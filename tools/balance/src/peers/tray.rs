//! A view in the making, as the planners of others want it: which shards each
//! open executor has, and how heavy they are.

use std::collections::BTreeSet;

use plimsoll_placement::view::{ExecutorIndex, ShardIndex, View};

use crate::world::{Step, load_of, open};

#[derive(Clone, Debug)]
pub(super) struct Tray {
    /// Open executors in order of id.
    pub(super) hosts: Vec<Host>,
    /// Shards without an open owner, in order of position.
    pub(super) homeless: Vec<ShardIndex>,
    loads: Vec<f64>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) index: ExecutorIndex,
    pub(super) shards: BTreeSet<ShardIndex>,
    pub(super) load: f64,
}

impl Tray {
    /// Shards on a silent executor are nobody's business: they appear nowhere.
    pub(super) fn new(view: &View) -> Self {
        let loads: Vec<f64> =
            (0..view.shards.len() as u32).map(|s| load_of(view, ShardIndex(s))).collect();
        let mut hosts: Vec<Host> = open(view).into_iter().map(Host::empty).collect();
        hosts.sort_by(|a, b| id(view, a).cmp(id(view, b)));
        let mut tray = Self { hosts, homeless: Vec::new(), loads, steps: Vec::new() };
        let place_of = tray.places(view);
        for (shard, seen) in (0u32..).map(ShardIndex).zip(&view.shards) {
            match seen.owner {
                Some(owner) => match place_of[owner.0 as usize] {
                    Some(place) => tray.put(shard, place),
                    None if view.executors[owner.0 as usize].candidacy.must_empty() => {
                        tray.homeless.push(shard);
                    }
                    None => {}
                },
                None => tray.homeless.push(shard),
            }
        }
        tray
    }

    /// By executor: its place in `hosts`.
    fn places(&self, view: &View) -> Vec<Option<usize>> {
        let mut places = vec![None; view.executors.len()];
        for (place, host) in self.hosts.iter().enumerate() {
            places[host.index.0 as usize] = Some(place);
        }
        places
    }

    fn put(&mut self, shard: ShardIndex, place: usize) {
        let load = self.load(shard);
        let host = &mut self.hosts[place];
        host.shards.insert(shard);
        host.load += load;
    }

    pub(super) fn load(&self, shard: ShardIndex) -> f64 {
        self.loads[shard.0 as usize]
    }

    /// Gives a shard that nobody has to the host at this place.
    pub(super) fn give(&mut self, shard: ShardIndex, to: usize) {
        self.put(shard, to);
        self.steps.push(Step { shard, to: self.hosts[to].index });
    }

    /// Takes a shard from one place to another.
    pub(super) fn carry(&mut self, shard: ShardIndex, from: usize, to: usize) {
        let load = self.load(shard);
        let host = &mut self.hosts[from];
        host.shards.remove(&shard);
        host.load -= load;
        self.give(shard, to);
    }

    /// The last step of each shard that ends up elsewhere, in order of decision.
    pub(super) fn into_steps(self, view: &View) -> Vec<Step> {
        let mut last = vec![None; view.shards.len()];
        for (order, step) in self.steps.iter().enumerate() {
            last[step.shard.0 as usize] = Some(order);
        }
        let stays = |step: &Step| view.shards[step.shard.0 as usize].owner == Some(step.to);
        let decided = self.steps.into_iter().enumerate();
        decided
            .filter(|(order, step)| last[step.shard.0 as usize] == Some(*order) && !stays(step))
            .map(|(_, step)| step)
            .collect()
    }
}

impl Host {
    fn empty(index: ExecutorIndex) -> Self {
        Self { index, shards: BTreeSet::new(), load: 0.0 }
    }
}

fn id<'a>(view: &'a View, host: &Host) -> &'a str {
    &view.executors[host.index.0 as usize].id
}
