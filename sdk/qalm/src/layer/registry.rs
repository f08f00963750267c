//! From a request's address to its endpoint. A path that nobody has described
//! gets a queue of its own only after a handler has answered it: whoever makes
//! paths up gets none.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::Method;
use parking_lot::Mutex;
use plimsoll_shedding::policy::{EndpointRules, Table};
use plimsoll_shedding::request::QueueIndex;
use plimsoll_shedding::settings::QueueSettings;

use super::address::{Address, Path, name};
use super::directory::{Directory, Kind, MAX_ENDPOINTS, Way};
use super::endpoint::Endpoint;
use super::path::masked;
use super::source::InForce;
use crate::callers::Callers;
use crate::figures::Figures;
use crate::gate::Gate;

/// The name that endpoints without one of their own share.
const REST: &str = "other";

type Queues = HashMap<Arc<str>, (QueueIndex, QueueSettings)>;

#[derive(Debug)]
pub(super) struct Registry {
    gate: Gate,
    cores: u32,
    pub(super) callers: Callers,
    pub(super) figures: Arc<Figures>,
    /// By name. Held while the directory changes.
    queues: Mutex<Queues>,
    directory: ArcSwap<Directory>,
}

/// The endpoint of a request.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) endpoint: Arc<Endpoint>,
    /// The path deserves an endpoint of its own once it has answered.
    pub(super) unproven: Option<Unproven>,
}

/// A path that nobody has described and no handler has answered yet.
#[derive(Clone, Debug)]
pub(super) struct Unproven {
    method: Option<Method>,
    path: Box<str>,
    kind: Kind,
}

impl Registry {
    pub(super) fn new(gate: Gate, cores: u32, policy: InForce) -> Self {
        let (callers, figures) = (Callers::default(), Arc::<Figures>::default());
        let mut queues = Queues::new();
        let maker = Maker { gate: &gate, callers: &callers, figures: &figures, table: &policy };
        let rest = maker.endpoint(&mut queues, REST);
        gate.set_service(policy.service_settings(cores));
        let directory = Directory::new(policy, rest);
        Self {
            gate,
            cores,
            callers,
            figures,
            queues: Mutex::new(queues),
            directory: ArcSwap::from_pointee(directory),
        }
    }

    pub(super) fn directory(&self) -> Guard<Arc<Directory>> {
        self.directory.load()
    }

    pub(super) fn find(&self, directory: &Directory, address: &Address<'_>) -> Found {
        let (Path::Route(path) | Path::Grpc(path) | Path::Raw(path)) = address.path;
        match directory.find(address.method, path) {
            Some(endpoint) => Found { endpoint: Arc::clone(endpoint), unproven: None },
            None => self.find_new(directory, address),
        }
    }

    fn find_new(&self, directory: &Directory, address: &Address<'_>) -> Found {
        let proven = |endpoint| Found { endpoint, unproven: None };
        match address.path {
            Path::Route(route) => proven(self.add(address.method, route, Kind::Route)),
            Path::Grpc(path) => {
                let endpoint = self.described(directory, None, path);
                let endpoint = endpoint.unwrap_or_else(|| Arc::clone(&directory.rest));
                let unproven = (!endpoint.is_bypassed()).then(|| Unproven {
                    method: None,
                    path: path.into(),
                    kind: Kind::Grpc,
                });
                Found { endpoint, unproven }
            }
            Path::Raw(path) => match self.described(directory, address.method, path) {
                Some(endpoint) => proven(endpoint),
                None => self.find_masked(directory, address.method, path),
            },
        }
    }

    fn find_masked(&self, directory: &Directory, method: Option<&Method>, path: &str) -> Found {
        let path = masked(path).into_boxed_str();
        if let Some(endpoint) = directory.find(method, &path) {
            return Found { endpoint: Arc::clone(endpoint), unproven: None };
        }
        let unproven = Unproven { method: method.cloned(), path, kind: Kind::Raw };
        Found { endpoint: Arc::clone(&directory.rest), unproven: Some(unproven) }
    }

    /// The endpoint that bears the name of the policy's pattern for this path.
    fn described(
        &self,
        directory: &Directory,
        method: Option<&Method>,
        path: &str,
    ) -> Option<Arc<Endpoint>> {
        let full_name = name(method, path);
        let pattern = directory.policy.pattern_of(&full_name)?;
        if let Some(endpoint) = directory.by_name.get(pattern) {
            return Some(Arc::clone(endpoint));
        }
        let mut queues = self.queues.lock();
        let mut directory = Directory::clone(&self.directory.load());
        let endpoint = self.endpoint(&mut queues, &mut directory, pattern);
        self.directory.store(Arc::new(directory));
        Some(endpoint)
    }

    /// A handler has answered it: from now on it has an endpoint of its own.
    pub(super) fn prove(&self, it: &Unproven) {
        self.add(it.method.as_ref(), &it.path, it.kind);
    }

    fn add(&self, method: Option<&Method>, path: &str, kind: Kind) -> Arc<Endpoint> {
        let mut queues = self.queues.lock();
        let mut directory = Directory::clone(&self.directory.load());
        let endpoint = self.endpoint(&mut queues, &mut directory, &name(method, path));
        let way = Way { method: method.cloned(), kind, endpoint: Arc::clone(&endpoint) };
        directory.remember(path, way);
        self.directory.store(Arc::new(directory));
        endpoint
    }

    /// The endpoint of that name, or the shared one if there is no room.
    fn endpoint(&self, queues: &mut Queues, to: &mut Directory, name: &str) -> Arc<Endpoint> {
        if let Some(endpoint) = to.by_name.get(name) {
            return Arc::clone(endpoint);
        }
        if to.by_name.len() >= MAX_ENDPOINTS || queues.len() >= MAX_ENDPOINTS {
            return Arc::clone(&to.rest);
        }
        let endpoint = self.maker(&to.policy).endpoint(queues, name);
        to.add(&endpoint);
        endpoint
    }

    fn maker<'a>(&'a self, table: &'a Table) -> Maker<'a> {
        Maker { gate: &self.gate, callers: &self.callers, figures: &self.figures, table }
    }

    /// From now on another policy holds. Endpoints that are known stay known.
    pub(super) fn adopt(&self, policy: &InForce) {
        let mut queues = self.queues.lock();
        let before = self.directory.load();
        if before.policy.is(policy) {
            return;
        }
        let rest = self.maker(policy).endpoint(&mut queues, REST);
        self.gate.set_service(policy.service_settings(self.cores));
        let mut after = Directory::new(policy.clone(), rest);
        for (path, way) in before.ways() {
            let full_name = name(way.method.as_ref(), path);
            let pattern = policy.pattern_of(&full_name).filter(|_| way.kind == Kind::Raw);
            let endpoint = self.endpoint(&mut queues, &mut after, pattern.unwrap_or(&full_name));
            after.remember(path, Way { endpoint, ..way.clone() });
        }
        self.directory.store(Arc::new(after));
    }
}

/// What an endpoint is made from.
struct Maker<'a> {
    gate: &'a Gate,
    callers: &'a Callers,
    figures: &'a Figures,
    table: &'a Table,
}

impl Maker<'_> {
    fn endpoint(&self, queues: &mut Queues, name: &str) -> Arc<Endpoint> {
        let rules = self.table.endpoint(name);
        let queue = self.queue(queues, &rules);
        let name = Arc::from(name);
        Arc::new(Endpoint::new(&name, rules, queue, self.callers, self.figures))
    }

    /// The queue of that name, with these settings from now on.
    fn queue(&self, queues: &mut Queues, rules: &EndpointRules) -> QueueIndex {
        let settings = rules.queue_settings();
        match queues.get_mut(rules.queue_name()) {
            None => {
                let index = self.gate.add_queue(rules.queue_name(), settings);
                queues.insert(Arc::clone(rules.queue_name()), (index, settings));
                index
            }
            Some((index, known)) => {
                if *known != settings {
                    *known = settings;
                    self.gate.set_queue(*index, settings);
                }
                *index
            }
        }
    }
}
