//! From what was counted to levels with reasons.

use std::collections::BTreeMap;

use super::hours::Busy;
use super::observed::{Beginning, Edge, Key, Observed};
use super::{Because, Heuristics, Proposal, Proposed, Serves};
use crate::criticality::Criticality;

/// Calls of a shorter time say nothing of hours, in seconds.
const NEARLY_A_DAY: u64 = 20 * 3600;
/// Of calls that serve something, to be taken to be for it.
const MOST: f64 = 0.5;
/// Of calls that serve what nobody waits for: one that somebody waits for is many.
const NEARLY_ALL: f64 = 0.9;

pub(super) fn judge(
    service: &str,
    observed: &Observed,
    heuristics: &Heuristics,
) -> Option<Proposal> {
    let edges = observed.services.get(service)?;
    let judge = Judge { heuristics, edges, knows_hours: observed.seconds() >= NEARLY_A_DAY };
    let mut all = judge.entries();
    all.extend(judge.callers());
    let bypass = judge.health();
    let (unclear, mut rules): (Vec<_>, Vec<_>) = all.into_iter().partition(Proposed::is_unclear);
    rules.sort_by(|a, b| (a.level, &a.caller, &a.endpoint).cmp(&(b.level, &b.caller, &b.endpoint)));
    Some(Proposal {
        service: service.to_owned(),
        calls: edges.values().map(|edge| edge.calls).sum(),
        seconds: observed.seconds(),
        bypass,
        rules,
        unclear,
    })
}

impl Proposed {
    /// A rule would say what the default does, for want of a reason.
    fn is_unclear(&self) -> bool {
        matches!(self.because, Because::Unknown | Because::Entry)
    }
}

struct Judge<'a> {
    heuristics: &'a Heuristics,
    edges: &'a BTreeMap<Key, Edge>,
    knows_hours: bool,
}

impl Judge<'_> {
    /// Endpoints that supervisors ask.
    fn health(&self) -> Vec<String> {
        let mut endpoints: Vec<String> =
            self.edges.keys().filter_map(|(it, _)| it.clone()).collect();
        endpoints.dedup();
        endpoints.retain(|endpoint| self.heuristics.is_health(endpoint));
        endpoints
    }

    fn is_health(&self, endpoint: Option<&str>) -> bool {
        endpoint.is_some_and(|it| self.heuristics.is_health(it))
    }

    /// Endpoints that were called from nowhere.
    fn entries(&self) -> Vec<Proposed> {
        let entries = self.edges.iter().filter_map(|((endpoint, caller), edge)| {
            let endpoint = endpoint.as_ref().filter(|it| !self.heuristics.is_health(it))?;
            caller.is_none().then_some((endpoint, edge))
        });
        entries
            .map(|(endpoint, edge)| {
                let (level, because) = self.entry(endpoint, edge);
                let endpoint = Some(endpoint.clone());
                Proposed { endpoint, caller: None, level, because, calls: edge.calls }
            })
            .collect()
    }

    fn entry(&self, endpoint: &str, edge: &Edge) -> (Criticality, Because) {
        if let Some(word) = self.heuristics.background(endpoint) {
            return (Criticality::Internal, Because::Background { word });
        }
        if let Some(busy) = self.busy(edge) {
            return (Criticality::Internal, at(busy));
        }
        match self.heuristics.core(endpoint) {
            Some(word) => (Criticality::CoreFlow, Because::CoreName { word }),
            None => (Criticality::Feature, Because::Entry),
        }
    }

    /// Each caller, and where it matters more or less than elsewhere.
    fn callers(&self) -> Vec<Proposed> {
        let mut whole: BTreeMap<&str, Edge> = BTreeMap::new();
        for ((endpoint, caller), edge) in self.edges {
            if let Some(caller) = caller.as_deref().filter(|_| !self.is_health(endpoint.as_deref()))
            {
                whole.entry(caller).or_default().and(edge);
            }
        }
        let each = whole.iter().flat_map(|(caller, edge)| {
            let (level, because) = self.caller(caller, edge);
            let exceptions = self.exceptions(caller, level);
            let caller = Some((*caller).to_owned());
            let calls = edge.calls;
            let usual = Proposed { endpoint: None, caller, level, because, calls };
            std::iter::once(usual).chain(exceptions)
        });
        each.collect()
    }

    fn caller(&self, name: &str, edge: &Edge) -> (Criticality, Because) {
        if let Some(word) = self.heuristics.background(name) {
            return (Criticality::Internal, Because::Background { word });
        }
        if let Some(busy) = self.busy(edge) {
            return (Criticality::Internal, at(busy));
        }
        if let Some(served) = self.served(edge) {
            return served;
        }
        match self.heuristics.core(name) {
            Some(word) => (Criticality::CoreFlow, Because::CoreName { word }),
            None => (Criticality::Feature, Because::Unknown),
        }
    }

    /// Endpoints at which the caller has another level, with enough calls to say
    /// so. A name says the same everywhere.
    fn exceptions(&self, name: &str, usual: Criticality) -> Vec<Proposed> {
        let mine = self.edges.iter().filter(|((endpoint, caller), edge)| {
            let is_known = endpoint.is_some() && !self.is_health(endpoint.as_deref());
            caller.as_deref() == Some(name) && is_known && edge.calls >= self.heuristics.least_calls
        });
        let judged = mine.map(|((endpoint, caller), edge)| {
            let (level, because) = self.caller(name, edge);
            let (endpoint, caller) = (endpoint.clone(), caller.clone());
            Proposed { endpoint, caller, level, because, calls: edge.calls }
        });
        judged.filter(|it| it.level != usual && !it.is_unclear()).collect()
    }

    /// The few hours in which it all happens.
    fn busy(&self, edge: &Edge) -> Option<Busy> {
        let Heuristics { hours, share, least_calls, .. } = *self.heuristics;
        let tells = self.knows_hours && edge.calls >= least_calls;
        if tells { edge.hours.busy(hours, share) } else { None }
    }

    /// What most of its calls are for.
    fn served(&self, edge: &Edge) -> Option<(Criticality, Because)> {
        let kinds = [
            (Serves::Background, NEARLY_ALL, Criticality::Internal),
            (Serves::CoreFlow, MOST, Criticality::CoreFlow),
            (Serves::People, MOST, Criticality::Feature),
        ];
        kinds.into_iter().find_map(|(what, share, level)| {
            let roots = edge.roots.iter().filter(|(root, _)| self.serves(root) == Some(what));
            let calls: u64 = roots.clone().map(|(_, calls)| calls).sum();
            let ((service, endpoint, _), _) = roots.max_by_key(|(_, calls)| **calls)?;
            let percent = (calls * 100 / edge.calls.max(1)) as u8;
            let because =
                Because::Serves { what, root: format!("{endpoint} of {service}"), percent };
            (calls as f64 >= edge.calls as f64 * share).then_some((level, because))
        })
    }

    /// What a trace that begins so is for; `None`: a job whose name says nothing.
    fn serves(&self, (service, endpoint, is_request): &Beginning) -> Option<Serves> {
        let names = [endpoint, service];
        if names.iter().any(|name| self.heuristics.background(name).is_some()) {
            return Some(Serves::Background);
        }
        let is_core = self.heuristics.core(endpoint).is_some();
        is_request.then_some(if is_core { Serves::CoreFlow } else { Serves::People })
    }
}

fn at(busy: Busy) -> Because {
    let Busy { from, hours, percent } = busy;
    Because::Hours { from, hours, percent }
}
