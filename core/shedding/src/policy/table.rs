//! A policy, compiled.

use std::sync::Arc;

use super::callers::{Callers, Decided};
use super::check::{self, ReadRule};
use super::endpoint::{Class, EndpointRules, Source};
use super::error::PolicyError;
use super::glob::Glob;
use super::pattern::EndpointPattern;
use super::{GroupIndex, Policy};
use crate::settings::{Enforcement, QueueSettings, ServiceSettings};

/// A policy, compiled.
///
/// Endpoints are gRPC methods, `/package.Service/Method`, and HTTP methods with
/// their path, `GET /v1/users/{id}`. In a pattern `*` stands for any text, slashes
/// too; a pattern that begins with a path means every method and gRPC.
#[derive(Debug)]
pub struct Table {
    policy: Policy,
    pub(super) rules: Vec<ReadRule>,
    pub(super) groups: Vec<(EndpointPattern, usize)>,
    pub(super) bypass: Vec<EndpointPattern>,
    queue: QueueSettings,
    group_queues: Vec<QueueSettings>,
    callers: Arc<Callers>,
    nobody: Arc<Callers>,
}

impl Default for Table {
    /// Protects without a policy.
    fn default() -> Self {
        // The default has no rules and only patterns of our own.
        #[expect(clippy::expect_used, reason = "tested")]
        Self::compile(&Policy::default()).expect("the default policy is valid")
    }
}

impl Table {
    /// # Errors
    /// The first thing in it that makes no sense.
    pub fn compile(policy: &Policy) -> Result<Self, PolicyError> {
        check::service(policy)?;
        let (queue, group_queues) = check::queues(policy)?;
        let rules = check::rules(policy)?;
        let only_caller = rules.iter().filter(|rule| rule.endpoint.is_none());
        Ok(Self {
            groups: check::groups(policy)?,
            bypass: check::bypass(policy)?,
            callers: Arc::new(Callers::new(only_caller.filter_map(by_caller))),
            nobody: Arc::default(),
            policy: policy.clone(),
            rules,
            queue,
            group_queues,
        })
    }

    /// What was compiled.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The settings of the service, which may use so many cores.
    pub fn service_settings(&self, cores: u32) -> ServiceSettings {
        ServiceSettings { concurrency: self.policy.concurrency, cores }
    }

    /// The settings of a queue that no group describes.
    pub fn queue_settings(&self) -> QueueSettings {
        self.queue
    }

    /// The patterns that are never queued nor refused.
    pub fn bypassed(&self) -> impl Iterator<Item = &str> {
        self.bypass.iter().map(EndpointPattern::as_str)
    }

    /// Everything that holds for an endpoint. Costs in proportion to the rules:
    /// keep what it returns, for no more endpoints than you bound.
    pub fn endpoint(&self, endpoint: &str) -> EndpointRules {
        let group = self.groups.iter().find(|(it, _)| it.matches(endpoint)).map(|(_, at)| *at);
        let shared_queue = group.filter(|&at| !self.policy.groups[at].each);
        let mine = |rule: &&ReadRule| rule.endpoint.as_ref().is_some_and(|it| it.matches(endpoint));
        let rules = self.rules.iter().filter(mine);
        let everybody = rules.clone().filter(|rule| rule.caller.is_none());
        let killed = self.policy.enforcement == Enforcement::Off;
        EndpointRules {
            bypassed: self.bypass.iter().any(|it| it.matches(endpoint)),
            group: group.map(|at| GroupIndex(at as u32)),
            queue_name: shared_queue.map_or(endpoint, |at| &self.policy.groups[at].name).into(),
            queue: group.map_or(self.queue, |at| self.group_queues[at]),
            own: self.own_callers(rules.filter_map(by_caller)),
            shared: self.callers.clone(),
            endpoint: everybody.fold(Decided::default(), |it, rule| it.or(rule.decided)),
            default: self.default_class(group.filter(|_| !killed)),
            killed,
        }
    }

    /// The pattern of a rule, a group or the bypass that describes an endpoint
    /// best. A shell that knows only raw paths, of which there is no end, takes it
    /// for the endpoint's name. `None` if there is none but `*` and the like,
    /// which would make one endpoint of all.
    pub fn pattern_of(&self, endpoint: &str) -> Option<&str> {
        let of_rules = self.rules.iter().filter_map(|rule| rule.endpoint.as_ref());
        let of_groups = self.groups.iter().map(|(it, _)| it);
        let all = of_rules.chain(of_groups).chain(&self.bypass);
        let fitting = all.filter(|it| it.is_telling() && it.matches(endpoint));
        fitting.max_by_key(|it| it.narrowness()).map(EndpointPattern::as_str)
    }

    fn own_callers<'a>(
        &self,
        rules: impl Iterator<Item = (&'a Glob, Decided)> + Clone,
    ) -> Arc<Callers> {
        if rules.clone().next().is_none() {
            return self.nobody.clone();
        }
        Arc::new(Callers::new(rules))
    }

    fn default_class(&self, group: Option<usize>) -> Class {
        let of_group = group.and_then(|at| {
            let by = Source::Group(GroupIndex(at as u32));
            self.policy.groups[at].enforcement.map(|it| (it, by))
        });
        let (enforcement, enforcement_by) =
            of_group.unwrap_or((self.policy.enforcement, Source::Default));
        let level = self.policy.default_criticality;
        Class { level, level_by: Source::Default, enforcement, enforcement_by }
    }
}

fn by_caller(rule: &ReadRule) -> Option<(&Glob, Decided)> {
    rule.caller.as_ref().map(|caller| (caller, rule.decided))
}
