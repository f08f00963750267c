//! Every endpoint that has been seen, under the policy of the moment. Replaced
//! whole when either changes, so that finding one locks nothing.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderName, Method};
use plimsoll_shedding::policy::CallerSource;

use super::endpoint::Endpoint;
use super::source::InForce;

/// Paths that nobody has described and that have an endpoint of their own; the rest
/// share one. What the policy describes and what a router matches comes on top:
/// whoever makes paths up does not choose their number.
const MAX_MADE_UP: usize = 1000;

/// Where to look for the caller's name.
#[derive(Clone, Debug)]
pub(super) enum NameSource {
    Header(HeaderName),
    Certificate,
}

/// How the name of a path is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The router matched it: there are as many as the application has.
    Route,
    /// A gRPC method that has answered.
    Grpc,
    /// A path with identifiers masked, that has answered.
    Raw,
}

/// A way to an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// `None`: gRPC, or a method that HTTP does not define.
    pub(super) method: Option<Method>,
    pub(super) kind: Kind,
    pub(super) endpoint: Arc<Endpoint>,
}

#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub(super) policy: InForce,
    pub(super) caller_from: Arc<[NameSource]>,
    /// Where paths go that nobody has described.
    pub(super) rest: Arc<Endpoint>,
    pub(super) by_name: HashMap<Arc<str>, Arc<Endpoint>>,
    by_path: HashMap<Box<str>, Vec<Way>>,
    made_up: usize,
}

impl Directory {
    pub(super) fn new(policy: InForce, rest: Arc<Endpoint>) -> Self {
        let caller_from = policy.policy().caller_from.iter().filter_map(source).collect();
        let by_name = HashMap::from([(Arc::clone(rest.name()), Arc::clone(&rest))]);
        Self { policy, caller_from, rest, by_name, by_path: HashMap::new(), made_up: 0 }
    }

    pub(super) fn find(&self, method: Option<&Method>, path: &str) -> Option<&Arc<Endpoint>> {
        let ways = self.by_path.get(path)?;
        Some(&ways.iter().find(|way| way.method.as_ref() == method)?.endpoint)
    }

    pub(super) fn add(&mut self, endpoint: &Arc<Endpoint>) {
        self.by_name.insert(Arc::clone(endpoint.name()), Arc::clone(endpoint));
    }

    /// Whether there is room for one more way of that kind.
    pub(super) fn has_room(&self, kind: Kind) -> bool {
        kind == Kind::Route || self.made_up < MAX_MADE_UP
    }

    /// Remembers where a path leads.
    pub(super) fn remember(&mut self, path: &str, way: Way) {
        self.made_up += usize::from(way.kind != Kind::Route);
        self.by_path.entry(path.into()).or_default().push(way);
    }

    pub(super) fn ways(&self) -> impl Iterator<Item = (&str, &Way)> {
        let by_path = self.by_path.iter();
        by_path.flat_map(|(path, ways)| ways.iter().map(move |way| (&**path, way)))
    }
}

fn source(it: &CallerSource) -> Option<NameSource> {
    match it {
        CallerSource::Certificate => Some(NameSource::Certificate),
        CallerSource::Header(name) => name.parse().ok().map(NameSource::Header),
    }
}
