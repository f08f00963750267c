//! Everything that a policy says of one endpoint: resolved once, asked at every
//! request.

use std::sync::Arc;

use super::callers::{Callers, Decided};
use super::{GroupIndex, RuleIndex};
use crate::criticality::Criticality;
use crate::settings::{Enforcement, QueueSettings};

/// What a policy says of one endpoint. Made by [`Table::endpoint`](super::Table::endpoint);
/// keep it, making it costs.
#[derive(Clone, Debug)]
pub struct EndpointRules {
    pub(super) bypassed: bool,
    pub(super) group: Option<GroupIndex>,
    pub(super) queue_name: Arc<str>,
    pub(super) queue: QueueSettings,
    /// Rules for this endpoint and a caller.
    pub(super) own: Arc<Callers>,
    /// Rules for a caller, the same for every endpoint.
    pub(super) shared: Arc<Callers>,
    /// Rules for this endpoint and everybody.
    pub(super) endpoint: Decided,
    /// What holds without a rule.
    pub(super) default: Class,
    /// The service is switched off: no rule is asked for an enforcement.
    pub(super) killed: bool,
}

/// What a policy says of one request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Class {
    /// The most critical level that the request may have; its caller may lower it.
    pub level: Criticality,
    /// Why it has that level.
    pub level_by: Source,
    pub enforcement: Enforcement,
    /// Why it has that enforcement.
    pub enforcement_by: Source,
}

/// What decided.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Source {
    Rule(RuleIndex),
    Group(GroupIndex),
    Default,
}

impl EndpointRules {
    /// It is never queued nor refused: health, reflection, what the policy lists.
    pub fn is_bypassed(&self) -> bool {
        self.bypassed
    }

    /// The group it is in, if any.
    pub fn group(&self) -> Option<GroupIndex> {
        self.group
    }

    /// The queue's name: the group's, or the endpoint's own. Queues of that name
    /// before and after a change of the policy are the same queue.
    pub fn queue_name(&self) -> &Arc<str> {
        &self.queue_name
    }

    /// The settings of that queue.
    pub fn queue_settings(&self) -> QueueSettings {
        self.queue
    }

    /// The level and the enforcement of a request by that caller; `None`: it gave
    /// no name. Allocates nothing.
    pub fn classify(&self, caller: Option<&str>) -> Class {
        let caller = caller.unwrap_or_default();
        let decided = self.own.find(caller).or(self.shared.find(caller)).or(self.endpoint);
        let mut class = self.default;
        if let Some((level, rule)) = decided.level {
            (class.level, class.level_by) = (level, Source::Rule(rule));
        }
        if let Some((enforcement, rule)) = decided.enforcement.filter(|_| !self.killed) {
            (class.enforcement, class.enforcement_by) = (enforcement, Source::Rule(rule));
        }
        class
    }
}
