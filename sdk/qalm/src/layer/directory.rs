//! Every endpoint that has been seen, under the policy of the moment. Replaced
//! whole when either changes, so that finding one locks nothing.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderName, Method};
use plimsoll_shedding::policy::CallerSource;

use super::endpoint::Endpoint;
use super::source::InForce;

/// Endpoints that have a queue and a label of their own; the rest share one.
/// As many paths are remembered.
pub(super) const MAX_ENDPOINTS: usize = 1000;

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
    paths: usize,
}

impl Directory {
    pub(super) fn new(policy: InForce, rest: Arc<Endpoint>) -> Self {
        let caller_from = policy.policy().caller_from.iter().filter_map(source).collect();
        let by_name = HashMap::from([(Arc::clone(rest.name()), Arc::clone(&rest))]);
        Self { policy, caller_from, rest, by_name, by_path: HashMap::new(), paths: 0 }
    }

    pub(super) fn find(&self, method: Option<&Method>, path: &str) -> Option<&Arc<Endpoint>> {
        let ways = self.by_path.get(path)?;
        Some(&ways.iter().find(|way| way.method.as_ref() == method)?.endpoint)
    }

    pub(super) fn add(&mut self, endpoint: &Arc<Endpoint>) {
        self.by_name.insert(Arc::clone(endpoint.name()), Arc::clone(endpoint));
    }

    /// Remembers where a path leads, while there is room.
    pub(super) fn remember(&mut self, path: &str, way: Way) {
        if self.paths < MAX_ENDPOINTS && self.find(way.method.as_ref(), path).is_none() {
            self.by_path.entry(path.into()).or_default().push(way);
            self.paths += 1;
        }
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
