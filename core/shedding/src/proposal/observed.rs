//! Who called what, counted: as much of it as fits.

use std::collections::{BTreeMap, BTreeSet};

use super::hours::Hours;

/// Triples of service, endpoint and caller that are told apart.
const MAX_EDGES: usize = 20_000;
/// Where calls of one edge come from in the end, told apart.
const MAX_ROOTS: usize = 32;

/// One call, as a trace tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Who was called.
    pub service: &'a str,
    /// As [`endpoint`](super::endpoint) names it; `None`: that is not known.
    pub endpoint: Option<&'a str>,
    /// `None`: nobody was seen to call.
    pub caller: Option<&'a str>,
    /// Where the trace begins; `None`: that is not known.
    pub root: Option<Root<'a>>,
    /// Seconds since 1970, UTC; `None`: that is not known.
    pub at: Option<u64>,
    /// How many calls this stands for.
    pub count: u64,
}

/// Where a trace begins.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Root<'a> {
    pub service: &'a str,
    /// Its endpoint, or the name of its first span.
    pub endpoint: &'a str,
    /// It is a request, and no job that began by itself.
    pub is_request: bool,
}

/// Calls, counted.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub(super) services: BTreeMap<String, BTreeMap<Key, Edge>>,
    edges: usize,
    first: Option<u64>,
    last: Option<u64>,
    left_out: u64,
}

/// A root: service, endpoint, whether it is a request.
pub(super) type Beginning = (String, String, bool);

/// The endpoint and the caller.
pub(super) type Key = (Option<String>, Option<String>);

/// The calls of one endpoint by one caller.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    pub(super) calls: u64,
    pub(super) hours: Hours,
    pub(super) roots: BTreeMap<Beginning, u64>,
}

impl Observed {
    /// Counts a call.
    pub fn add(&mut self, call: &Call<'_>) {
        let named = |it: Option<&str>| it.filter(|it| !it.is_empty()).map(str::to_owned);
        let key = (named(call.endpoint), named(call.caller));
        let is_known = self.services.get(call.service).is_some_and(|it| it.contains_key(&key));
        if !is_known && self.edges >= MAX_EDGES {
            self.left_out += call.count;
            return;
        }
        self.edges += usize::from(!is_known);
        let edge =
            self.services.entry(call.service.to_owned()).or_default().entry(key).or_default();
        edge.add(call);
        if let Some(at) = call.at {
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            self.last = Some(self.last.map_or(at, |last| last.max(at)));
        }
    }

    /// Every service that was called, by name.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }

    /// Everybody who called that service, by name.
    pub fn callers(&self, service: &str) -> BTreeSet<&str> {
        let edges = self.services.get(service).into_iter().flatten();
        edges.filter_map(|((_, caller), _)| caller.as_deref()).collect()
    }

    /// Calls for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Seconds from the first call to the last.
    pub fn seconds(&self) -> u64 {
        self.last.zip(self.first).map_or(0, |(last, first)| last - first)
    }
}

impl Edge {
    fn add(&mut self, call: &Call<'_>) {
        self.calls += call.count;
        if let Some(at) = call.at {
            self.hours.add((at / 3600 % 24) as u8, call.count);
        }
        let Some(root) = call.root else { return };
        let key = (root.service.to_owned(), root.endpoint.to_owned(), root.is_request);
        if self.roots.len() < MAX_ROOTS || self.roots.contains_key(&key) {
            *self.roots.entry(key).or_default() += call.count;
        }
    }

    /// Both together.
    pub(super) fn and(&mut self, other: &Self) {
        self.calls += other.calls;
        self.hours.and(&other.hours);
        for (root, calls) in &other.roots {
            *self.roots.entry(root.clone()).or_default() += calls;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut observed = Observed::default();
        let names: Vec<String> = (0..MAX_EDGES + 7).map(|n| format!("/{n}")).collect();
        for name in names.iter().chain(&names[..3]) {
            observed.add(&Call {
                service: "s",
                endpoint: Some(name),
                caller: None,
                root: None,
                at: Some(name.len() as u64),
                count: 2,
            });
        }
        assert_eq!((observed.left_out(), observed.edges), (14, MAX_EDGES));
        assert_eq!(observed.services["s"][&(Some("/0".to_owned()), None)].calls, 4);
        assert_eq!(observed.seconds(), 4);
    }
}
