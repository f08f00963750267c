//! What another policy would have done with the traffic of the last minutes.
//!
//! The model is strict and simple. In each slice of ten seconds, the endpoints that
//! share a queue under the other policy would have carried as many requests as they
//! did: as many are refused as were, or would have been but for a dry run. The least
//! critical go first, levels 1 and 2 never, and nothing that is not enforced. It knows
//! neither queues nor waits: what another limit or target would have done it does not
//! say, and within a slice it lets no level keep what a more critical one needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::endpoint::{Class, EndpointRules};
use super::table::Table;
use crate::criticality::Criticality;
use crate::settings::Enforcement;
use crate::traffic::{Figures, Row, Rule, Slice, Traffic};

/// Changes that are told, those with the most requests.
pub const MAX_CHANGES: usize = 1000;

/// What would be different.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The most requests first.
    pub changes: Vec<Change>,
    /// From level 1 to level 4.
    pub levels: [LevelShed; 4],
}

/// An endpoint and a caller that would have another level or enforcement.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub endpoint: Arc<str>,
    /// Empty: the caller gave no name.
    pub caller: Arc<str>,
    pub from: Standing,
    pub to: Standing,
    /// A second.
    pub rate: f64,
}

/// How a policy sees an endpoint and a caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standing {
    pub level: Criticality,
    /// `None`: never queued nor refused.
    pub enforcement: Option<Enforcement>,
}

impl Standing {
    /// As in a policy file, and `bypass`.
    pub fn enforcement_as_str(&self) -> &'static str {
        self.enforcement.map_or("bypass", Enforcement::as_str)
    }

    fn new(rules: &EndpointRules, class: Class) -> Self {
        let enforcement = (!rules.is_bypassed()).then_some(class.enforcement);
        Self { level: class.level, enforcement }
    }
}

/// One level, as it was and as it would have been.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LevelShed {
    pub requests: u64,
    pub shed: u64,
    /// Requests that would have had this level.
    pub would_have: u64,
    /// Of those, what would have been shed.
    pub would_shed: u64,
}

/// Both policies about one endpoint and caller.
struct Seen {
    from: Standing,
    to: Standing,
    queue: Arc<str>,
}

/// What meets in one queue within one slice.
#[derive(Default)]
struct Meeting {
    /// To be refused.
    excess: u64,
    /// What may be refused, by level.
    demand: [u64; 4],
}

impl Preview {
    /// Compares what `after` would have done with the traffic that `before` has seen.
    pub fn new(before: &Table, after: &Table, traffic: &Traffic) -> Self {
        let rows = traffic.rows();
        let seen = both(before, after, &rows);
        let mut levels = [LevelShed::default(); 4];
        for slice in traffic.slices.values() {
            add(&mut levels, slice, &seen);
        }
        Self { changes: changes(&seen, &rows, traffic), levels }
    }
}

type Pair = (Arc<str>, Arc<str>);

fn pair(row: &Row) -> Pair {
    (row.endpoint.clone(), row.caller.clone())
}

/// Each endpoint is looked up once: that costs.
fn both(before: &Table, after: &Table, rows: &BTreeMap<Row, Figures>) -> BTreeMap<Pair, Seen> {
    let mut seen = BTreeMap::new();
    let mut last: Option<(Arc<str>, EndpointRules, EndpointRules)> = None;
    for row in rows.keys() {
        if last.as_ref().is_none_or(|(endpoint, ..)| *endpoint != row.endpoint) {
            let endpoint = row.endpoint.clone();
            last = Some((endpoint, before.endpoint(&row.endpoint), after.endpoint(&row.endpoint)));
        }
        let Some((_, old, new)) = &last else { continue };
        let caller = Some(&*row.caller);
        seen.entry(pair(row)).or_insert_with(|| Seen {
            from: Standing::new(old, old.classify(caller)),
            to: Standing::new(new, new.classify(caller)),
            queue: new.queue_name().clone(),
        });
    }
    seen
}

/// A caller that asked for less than the policy gives goes on asking for it.
fn level(row: &Row, rule: Rule, seen: &Seen) -> Criticality {
    if rule == Rule::Header || row.level > seen.from.level {
        return row.level.capped_by(seen.to.level);
    }
    seen.to.level
}

fn add(levels: &mut [LevelShed; 4], slice: &Slice, seen: &BTreeMap<Pair, Seen>) {
    let mut queues = BTreeMap::<&Arc<str>, Meeting>::new();
    for (row, figures) in &slice.rows {
        let Some(seen) = seen.get(&pair(row)) else { continue };
        let (counts, would_be) = (&figures.counts, level(row, figures.rule, seen));
        let requests = counts.requests();
        let before = &mut levels[row.level.index()];
        before.requests = before.requests.saturating_add(requests);
        before.shed = before.shed.saturating_add(counts.shed);
        let after = &mut levels[would_be.index()];
        after.would_have = after.would_have.saturating_add(requests);
        let queue = queues.entry(&seen.queue).or_default();
        let refused = counts.shed.saturating_add(counts.would_shed.min(counts.admitted));
        queue.excess = queue.excess.saturating_add(refused);
        if seen.to.enforcement == Some(Enforcement::Enforce) {
            let demand = &mut queue.demand[would_be.index()];
            *demand = demand.saturating_add(counts.admitted.saturating_add(counts.shed));
        }
    }
    for queue in queues.into_values() {
        refuse(levels, queue);
    }
}

/// The least critical first.
fn refuse(levels: &mut [LevelShed; 4], mut queue: Meeting) {
    for level in Criticality::ALL.into_iter().rev().filter(|level| !level.is_critical()) {
        let refused = queue.excess.min(queue.demand[level.index()]);
        queue.excess -= refused;
        let sum = &mut levels[level.index()].would_shed;
        *sum = sum.saturating_add(refused);
    }
}

fn changes(
    seen: &BTreeMap<Pair, Seen>,
    rows: &BTreeMap<Row, Figures>,
    traffic: &Traffic,
) -> Vec<Change> {
    let mut requests = BTreeMap::<Pair, u64>::new();
    for (row, figures) in rows {
        let sum = requests.entry(pair(row)).or_default();
        *sum = sum.saturating_add(figures.counts.requests());
    }
    let seconds = traffic.over().as_secs_f64().max(1.0);
    let changed = seen.iter().filter(|(_, seen)| seen.from != seen.to);
    let mut changes: Vec<Change> = changed
        .map(|(pair, seen)| Change {
            endpoint: pair.0.clone(),
            caller: pair.1.clone(),
            from: seen.from,
            to: seen.to,
            rate: requests.get(pair).copied().unwrap_or(0) as f64 / seconds,
        })
        .collect();
    changes.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    changes.truncate(MAX_CHANGES);
    changes
}

#[cfg(test)]
mod tests;
