//! Endpoints and their queues, made as a policy describes them.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use plimsoll_shedding::policy::Table;
use plimsoll_shedding::request::QueueIndex;
use plimsoll_shedding::settings::QueueSettings;

use super::super::address::name;
use super::super::directory::Kind;
use super::super::endpoint::{Endpoint, Rules};
use crate::callers::Callers;
use crate::figures::Figures;
use crate::gate::Gate;

/// The name that endpoints without one of their own share.
const REST: &str = "other";
/// Their queue, unless a group takes them: no group can have this name.
const REST_QUEUE: &str = "(other)";

/// By name; with the settings that they have.
pub(super) type Queues = HashMap<Arc<str>, (QueueIndex, QueueSettings)>;

/// What an endpoint is made from.
pub(super) struct Maker<'a> {
    pub(super) gate: &'a Gate,
    pub(super) callers: &'a Callers,
    pub(super) figures: &'a Figures,
    pub(super) table: &'a Table,
}

impl Maker<'_> {
    /// The endpoint of that name, under the policy's rules for it.
    pub(super) fn endpoint(&self, queues: &mut Queues, name: &str, kind: Kind) -> Arc<Endpoint> {
        let own = self.table.endpoint(name);
        let http = (kind == Kind::Grpc).then(|| self.table.endpoint(&as_http(name)));
        let rules = Rules { own, http };
        let queue = self.queue(queues, rules.queue_name(), rules.queue_settings());
        self.made(name, rules, queue)
    }

    /// The endpoint of all paths that have none of their own.
    pub(super) fn rest(&self, queues: &mut Queues) -> Arc<Endpoint> {
        let rules = Rules { own: self.table.endpoint(REST), http: None };
        let group = rules.own.group().map(|at| &self.table.policy().groups[at.0 as usize]);
        let shares = group.is_some_and(|group| !group.each);
        let rest = Arc::from(REST_QUEUE);
        let queue_name = if shares { rules.queue_name() } else { &rest };
        let queue = self.queue(queues, queue_name, rules.queue_settings());
        self.made(REST, rules, queue)
    }

    fn made(&self, name: &str, rules: Rules, queue: QueueIndex) -> Arc<Endpoint> {
        Arc::new(Endpoint::new(&Arc::from(name), rules, queue, self.callers, self.figures))
    }

    /// The queue of that name, with these settings from now on.
    fn queue(&self, queues: &mut Queues, name: &Arc<str>, settings: QueueSettings) -> QueueIndex {
        match queues.get_mut(name) {
            None => {
                let index = self.gate.add_queue(name, settings);
                queues.insert(Arc::clone(name), (index, settings));
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

/// What a gRPC method is called as HTTP.
fn as_http(method: &str) -> String {
    name(Some(&Method::POST), method)
}
