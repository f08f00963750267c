//! Reads a policy's patterns and refuses what makes no sense.

use std::cmp::Reverse;

use super::callers::Decided;
use super::error::{Place, PolicyError, Problem};
use super::glob::Glob;
use super::pattern::{EndpointPattern, MAX_PATTERN};
use super::{CallerSource, Group, Policy, Rule, RuleIndex, overrides};
use crate::settings::{Auto, QueueSettings};

/// Bounds on what is compiled.
const MAX_RULES: usize = 10_000;
const MAX_GROUPS: usize = 1_000;
/// Endpoint patterns of all groups, or of the bypass.
const MAX_ENDPOINTS: usize = 10_000;
/// The longest name of a group.
const MAX_NAME: usize = 64;

/// A rule with its patterns read.
#[derive(Debug)]
pub(super) struct ReadRule {
    pub(super) index: RuleIndex,
    pub(super) endpoint: Option<EndpointPattern>,
    pub(super) caller: Option<Glob>,
    pub(super) decided: Decided,
}

impl ReadRule {
    /// Rules with a smaller rank win; rules of the same rank may not meet.
    fn rank(&self) -> impl Ord + use<> {
        let kind = match (&self.endpoint, &self.caller) {
            (Some(_), Some(_)) => 0,
            (None, _) => 1,
            (Some(_), None) => 2,
        };
        let caller = self.caller.as_ref().map(Glob::narrowness);
        let endpoint = self.endpoint.as_ref().map(EndpointPattern::narrowness);
        (kind, Reverse(caller), Reverse(endpoint))
    }

    /// The name that a rule is for, where there is only one. Rules of the same rank
    /// but for different names never meet.
    fn only_name(&self) -> Option<(Option<&str>, &str)> {
        match (&self.caller, &self.endpoint) {
            (Some(caller), _) => caller.exact().map(|name| (None, name)),
            (None, endpoint) => endpoint.as_ref()?.exact(),
        }
    }

    /// Whether both would decide the same of some request.
    fn clashes(&self, other: &Self) -> bool {
        let level = self.decided.level.is_some() && other.decided.level.is_some();
        let enforcement = self.decided.enforcement.is_some() && other.decided.enforcement.is_some();
        let meet = |a: &Option<Glob>, b: &Option<Glob>| match (a, b) {
            (Some(a), Some(b)) => a.overlaps(b),
            _ => true,
        };
        let endpoints = match (&self.endpoint, &other.endpoint) {
            (Some(a), Some(b)) => a.overlaps(b),
            _ => true,
        };
        (level || enforcement) && meet(&self.caller, &other.caller) && endpoints
    }
}

/// The rules in the order in which they win.
pub(super) fn rules(policy: &Policy) -> Result<Vec<ReadRule>, PolicyError> {
    bounded("rules", policy.rules.len(), MAX_RULES)?;
    let read = policy.rules.iter().enumerate().map(|(at, rule)| {
        read_rule(at, rule).map_err(|problem| PolicyError::new(Place::Rule(at), problem))
    });
    let mut rules = read.collect::<Result<Vec<_>, _>>()?;
    let order = |a: &ReadRule, b: &ReadRule| {
        a.rank().cmp(&b.rank()).then_with(|| a.only_name().cmp(&b.only_name()))
    };
    rules.sort_by(order);
    for equals in rules.chunk_by(|a, b| order(a, b).is_eq()) {
        refuse_clashes(equals)?;
    }
    Ok(rules)
}

fn read_rule(at: usize, rule: &Rule) -> Result<ReadRule, Problem> {
    if rule.endpoint.is_none() && rule.caller.is_none() {
        return Err(Problem::NobodyNamed);
    }
    if rule.criticality.is_none() && rule.enforcement.is_none() {
        return Err(Problem::NothingSet);
    }
    let index = RuleIndex(at as u32);
    Ok(ReadRule {
        index,
        endpoint: rule.endpoint.as_deref().map(EndpointPattern::parse).transpose()?,
        caller: rule.caller.as_deref().map(read_caller).transpose()?,
        decided: Decided::by(rule, index),
    })
}

fn read_caller(name: &str) -> Result<Glob, Problem> {
    let wrong = |reason| Err(Problem::Caller { name: name.to_owned(), reason });
    if name.len() > MAX_PATTERN {
        return wrong("it is longer than 512 bytes");
    }
    if name.chars().any(char::is_control) || name.trim() != name {
        return wrong("no header can carry it: remove line breaks and spaces around it");
    }
    Ok(Glob::new(name))
}

fn refuse_clashes(equals: &[ReadRule]) -> Result<(), PolicyError> {
    for (at, rule) in equals.iter().enumerate() {
        if let Some(later) = equals[at + 1..].iter().find(|later| rule.clashes(later)) {
            let other = rule.index.0 as usize;
            let place = Place::Rule(later.index.0 as usize);
            return Err(PolicyError::new(place, Problem::AmbiguousRules { other }));
        }
    }
    Ok(())
}

/// The patterns of all groups with their group, the narrowest first.
pub(super) fn groups(policy: &Policy) -> Result<Vec<(EndpointPattern, usize)>, PolicyError> {
    bounded("groups", policy.groups.len(), MAX_GROUPS)?;
    bounded(
        "endpoints in groups",
        policy.groups.iter().map(|group| group.endpoints.len()).sum(),
        MAX_ENDPOINTS,
    )?;
    let mut patterns = Vec::new();
    for (at, group) in policy.groups.iter().enumerate() {
        let refuse = |problem| PolicyError::new(Place::Group(at), problem);
        check_name(group, &policy.groups[..at]).map_err(refuse)?;
        for text in &group.endpoints {
            patterns.push((EndpointPattern::parse(text).map_err(refuse)?, at));
        }
    }
    patterns.sort_by_key(|(pattern, _)| Reverse(pattern.narrowness()));
    for same in patterns.chunk_by(|a, b| a.0.narrowness() == b.0.narrowness()) {
        refuse_overlaps(same)?;
    }
    Ok(patterns)
}

fn check_name(group: &Group, before: &[Group]) -> Result<(), Problem> {
    let name = &group.name;
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        return Err(Problem::GroupName { name: name.clone() });
    }
    if let Some(other) = before.iter().position(|it| it.name == *name) {
        return Err(Problem::GroupTwice { name: name.clone(), other });
    }
    if group.endpoints.is_empty() {
        return Err(Problem::NoEndpoints);
    }
    Ok(())
}

fn refuse_overlaps(same: &[(EndpointPattern, usize)]) -> Result<(), PolicyError> {
    for (at, (pattern, group)) in same.iter().enumerate() {
        let clash =
            |(it, other): &&(EndpointPattern, usize)| other != group && it.overlaps(pattern);
        if let Some((later, later_group)) = same[at + 1..].iter().find(clash) {
            let problem = Problem::AmbiguousGroups {
                pattern: later.as_str().to_owned(),
                other_pattern: pattern.as_str().to_owned(),
                other: *group,
            };
            return Err(PolicyError::new(Place::Group(*later_group), problem));
        }
    }
    Ok(())
}

/// The patterns that are never queued nor refused, those of health last.
pub(super) fn bypass(policy: &Policy) -> Result<Vec<EndpointPattern>, PolicyError> {
    bounded("bypassed endpoints", policy.bypass.len(), MAX_ENDPOINTS)?;
    let health = super::HEALTH_ENDPOINTS.iter().filter(|_| policy.bypass_health);
    let all = policy.bypass.iter().map(String::as_str).chain(health.copied());
    let read = all.enumerate().map(|(at, text)| {
        EndpointPattern::parse(text).map_err(|problem| PolicyError::new(Place::Bypass(at), problem))
    });
    read.collect()
}

/// The settings of every queue, and those of each group.
pub(super) fn queues(policy: &Policy) -> Result<(QueueSettings, Vec<QueueSettings>), PolicyError> {
    let check = |place, settings: QueueSettings| match overrides::check(&settings) {
        Ok(()) => Ok(settings),
        Err(problem) => Err(PolicyError::new(place, problem)),
    };
    let base = check(Place::Queue, policy.queue.over(QueueSettings::default()))?;
    let of_group = |(at, group): (usize, &Group)| check(Place::Group(at), group.queue.over(base));
    Ok((base, policy.groups.iter().enumerate().map(of_group).collect::<Result<_, _>>()?))
}

/// What concerns the service as a whole.
pub(super) fn service(policy: &Policy) -> Result<(), PolicyError> {
    if policy.concurrency == Auto::Fixed(0) {
        let (key, reason) = ("concurrency", "is at least 1, or \"auto\"");
        return Err(PolicyError::new(Place::Service, Problem::Setting { key, reason }));
    }
    let token = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.".contains(&c);
    for (at, source) in policy.caller_from.iter().enumerate() {
        let CallerSource::Header(name) = source else { continue };
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(token) {
            let problem = Problem::Header { name: name.clone() };
            return Err(PolicyError::new(Place::CallerFrom(at), problem));
        }
    }
    Ok(())
}

fn bounded(what: &'static str, count: usize, max: usize) -> Result<(), PolicyError> {
    if count <= max {
        return Ok(());
    }
    Err(PolicyError::new(Place::Service, Problem::TooMany { what, count, max }))
}
