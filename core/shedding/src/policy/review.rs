//! What in a valid policy does nothing: rules that others always precede, and
//! what only concerns endpoints that are never queued.

use super::check::ReadRule;
use super::pattern::EndpointPattern;
use super::table::Table;
use super::{GroupIndex, RuleIndex};
use crate::settings::Enforcement;

/// Something in a valid policy that does nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Finding {
    pub at: Matter,
    /// What takes its place; `None`: the bypass, or the kill switch.
    pub because_of: Option<Matter>,
}

/// A rule or a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Matter {
    Rule(RuleIndex),
    Group(GroupIndex),
}

impl Table {
    /// Rules and groups that can never decide anything. Looks at pairs: what only
    /// several others together precede is not found.
    pub fn review(&self) -> Vec<Finding> {
        let mut found: Vec<_> =
            (0..self.policy().groups.len()).filter_map(|at| self.idle_group(at)).collect();
        let mut rules: Vec<_> = (0..self.rules.len()).filter_map(|at| self.idle_rule(at)).collect();
        rules.sort_by_key(|(index, _)| *index);
        found.extend(rules.into_iter().map(|(_, finding)| finding));
        found
    }

    fn idle_group(&self, at: usize) -> Option<Finding> {
        let mut patterns = self.groups.iter().filter(|(_, group)| *group == at);
        let idle = patterns.all(|(pattern, _)| self.is_bypassed(pattern));
        let at = Matter::Group(GroupIndex(at as u32));
        idle.then_some(Finding { at, because_of: None })
    }

    fn idle_rule(&self, at: usize) -> Option<(RuleIndex, Finding)> {
        let rule = &self.rules[at];
        let bypassed = rule.endpoint.as_ref().is_some_and(|it| self.is_bypassed(it));
        let killed = self.policy().enforcement == Enforcement::Off && rule.decided.level.is_none();
        let finding = |because_of| Finding { at: Matter::Rule(rule.index), because_of };
        if bypassed || killed {
            return Some((rule.index, finding(None)));
        }
        let before = self.rules[..at].iter().find(|before| precedes(before, rule))?;
        Some((rule.index, finding(Some(Matter::Rule(before.index)))))
    }

    fn is_bypassed(&self, pattern: &EndpointPattern) -> bool {
        self.bypass.iter().any(|it| it.covers(pattern))
    }
}

/// Whether the one that wins decides everything that the other would.
fn precedes(winner: &ReadRule, other: &ReadRule) -> bool {
    let callers = match (&winner.caller, &other.caller) {
        (None, _) => true,
        (Some(all), Some(some)) => all.covers(some),
        (Some(all), None) => all.as_str() == "*",
    };
    let endpoints = match (&winner.endpoint, &other.endpoint) {
        (None, _) => true,
        (Some(all), Some(some)) => all.covers(some),
        (Some(all), None) => all.as_str() == "*",
    };
    let level = winner.decided.level.is_some() || other.decided.level.is_none();
    let enforcement = winner.decided.enforcement.is_some() || other.decided.enforcement.is_none();
    callers && endpoints && level && enforcement
}
