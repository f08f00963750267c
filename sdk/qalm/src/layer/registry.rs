//! From a request's address to its endpoint. A path that nobody has described
//! gets a queue of its own only after a handler has answered it: whoever makes
//! paths up gets none.

mod maker;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::Method;
use parking_lot::Mutex;
use plimsoll_shedding::policy::Table;

use super::address::{Address, Path, name};
use super::directory::{Directory, Kind, Way};
use super::endpoint::Endpoint;
use super::path::{is_plain, masked};
use super::source::InForce;
use crate::callers::Callers;
use crate::figures::Figures;
use crate::gate::Gate;
use maker::{Maker, Queues};

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
        callers.describe(policy.policy());
        let maker = Maker { gate: &gate, callers: &callers, figures: &figures, table: &policy };
        let rest = maker.rest(&mut queues);
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

    /// Where a request goes that was sent to the raw path `sent`. Only who spells
    /// the path of a bypass as it is passes by: what is behind may read another
    /// spelling as another path.
    pub(super) fn find(&self, directory: &Directory, address: &Address<'_>, sent: &str) -> Found {
        let found = self.find_any(directory, address);
        if found.endpoint.is_bypassed() && !is_plain(sent) {
            return Found { endpoint: Arc::clone(&directory.rest), unproven: None };
        }
        found
    }

    fn find_any(&self, directory: &Directory, address: &Address<'_>) -> Found {
        let path: &str = match &address.path {
            Path::Route(path) => path,
            Path::Grpc(path) | Path::Raw(path) => path,
        };
        match directory.find(address.method, path) {
            Some(endpoint) => Found { endpoint: Arc::clone(endpoint), unproven: None },
            None => self.find_new(directory, address),
        }
    }

    fn find_new(&self, directory: &Directory, address: &Address<'_>) -> Found {
        let proven = |endpoint| Found { endpoint, unproven: None };
        match &address.path {
            Path::Route(route) => proven(self.add(address.method, route, Kind::Route)),
            Path::Grpc(path) => {
                let endpoint = self.as_http(directory, path);
                let unproven = (!endpoint.is_bypassed()).then(|| Unproven {
                    method: None,
                    path: path.as_ref().into(),
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

    /// Where a gRPC call goes that no handler of gRPC has answered yet: where it
    /// would go as HTTP.
    fn as_http(&self, directory: &Directory, path: &str) -> Arc<Endpoint> {
        let method = Some(&Method::POST);
        if let Some(endpoint) = directory.find(method, path) {
            return Arc::clone(endpoint);
        }
        let described = self.described(directory, method, path);
        described.unwrap_or_else(|| self.find_masked(directory, method, path).endpoint)
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
        let endpoint = self.endpoint(&mut queues, &mut directory, pattern, Kind::Raw);
        self.directory.store(Arc::new(directory));
        Some(endpoint)
    }

    /// A handler has answered it: from now on it has an endpoint of its own.
    pub(super) fn prove(&self, it: &Unproven) {
        self.add(it.method.as_ref(), &it.path, it.kind);
    }

    /// The endpoint of that path from now on, while there is room.
    fn add(&self, method: Option<&Method>, path: &str, kind: Kind) -> Arc<Endpoint> {
        let settled = |directory: &Directory| match directory.find(method, path) {
            Some(endpoint) => Some(Arc::clone(endpoint)),
            None => (!directory.has_room(kind)).then(|| Arc::clone(&directory.rest)),
        };
        if let Some(endpoint) = settled(&self.directory.load()) {
            return endpoint;
        }
        let mut queues = self.queues.lock();
        let mut directory = Directory::clone(&self.directory.load());
        if let Some(endpoint) = settled(&directory) {
            return endpoint;
        }
        let endpoint = self.endpoint(&mut queues, &mut directory, &name(method, path), kind);
        let way = Way { method: method.cloned(), kind, endpoint: Arc::clone(&endpoint) };
        directory.remember(path, way);
        self.directory.store(Arc::new(directory));
        endpoint
    }

    /// The endpoint of that name.
    fn endpoint(
        &self,
        queues: &mut Queues,
        to: &mut Directory,
        name: &str,
        kind: Kind,
    ) -> Arc<Endpoint> {
        if let Some(endpoint) = to.by_name.get(name) {
            return Arc::clone(endpoint);
        }
        let endpoint = self.maker(&to.policy).endpoint(queues, name, kind);
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
        self.callers.describe(policy.policy());
        let rest = self.maker(policy).rest(&mut queues);
        self.gate.set_service(policy.service_settings(self.cores));
        let mut after = Directory::new(policy.clone(), rest);
        for (path, way) in before.ways() {
            let full_name = name(way.method.as_ref(), path);
            let pattern = policy.pattern_of(&full_name).filter(|_| way.kind == Kind::Raw);
            let own_name = pattern.unwrap_or(&full_name);
            let endpoint = self.endpoint(&mut queues, &mut after, own_name, way.kind);
            after.remember(path, Way { endpoint, ..way.clone() });
        }
        self.directory.store(Arc::new(after));
    }
}
