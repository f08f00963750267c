//! What rules say of callers: an exact name by binary search, wildcards in order.

use super::glob::Glob;
use super::{Rule, RuleIndex};
use crate::criticality::Criticality;
use crate::settings::Enforcement;

/// What rules have decided so far, and which ones.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Decided {
    pub(super) level: Option<(Criticality, RuleIndex)>,
    pub(super) enforcement: Option<(Enforcement, RuleIndex)>,
}

impl Decided {
    pub(super) fn by(rule: &Rule, index: RuleIndex) -> Self {
        Self {
            level: rule.criticality.map(|it| (it, index)),
            enforcement: rule.enforcement.map(|it| (it, index)),
        }
    }

    /// What is still open is decided by the next.
    pub(super) fn or(self, next: Self) -> Self {
        Self {
            level: self.level.or(next.level),
            enforcement: self.enforcement.or(next.enforcement),
        }
    }
}

/// The rules that name a caller, ready to be looked up.
#[derive(Debug, Default)]
pub(super) struct Callers {
    /// By length, then text; wildcards that match the name are already in.
    exact: Box<[(Box<str>, Decided)]>,
    /// The most specific first.
    wildcards: Box<[(Glob, Decided)]>,
}

impl Callers {
    /// From rules in the order in which they win.
    pub(super) fn new<'a>(rules: impl Iterator<Item = (&'a Glob, Decided)> + Clone) -> Self {
        let mut names: Vec<&str> = rules.clone().filter_map(|(caller, _)| caller.exact()).collect();
        names.sort_unstable_by_key(|name| (name.len(), *name));
        names.dedup();
        let wildcards: Box<[_]> = rules
            .clone()
            .filter(|(caller, _)| caller.exact().is_none())
            .map(|(caller, decided)| (caller.clone(), decided))
            .collect();
        let mut exact: Box<[_]> =
            names.into_iter().map(|it| (it.into(), Decided::default())).collect();
        for (caller, decided) in rules {
            let Some(at) = caller.exact().and_then(|name| position(&exact, name)) else { continue };
            exact[at].1 = exact[at].1.or(decided);
        }
        for (name, decided) in &mut exact {
            *decided = decided.or(scan(&wildcards, name));
        }
        Self { exact, wildcards }
    }

    /// What the rules say of that caller.
    pub(super) fn find(&self, caller: &str) -> Decided {
        match position(&self.exact, caller) {
            Some(at) => self.exact[at].1,
            None => scan(&self.wildcards, caller),
        }
    }
}

fn position(exact: &[(Box<str>, Decided)], name: &str) -> Option<usize> {
    exact.binary_search_by_key(&(name.len(), name), |(it, _)| (it.len(), it)).ok()
}

fn scan(wildcards: &[(Glob, Decided)], caller: &str) -> Decided {
    let matching = wildcards.iter().filter(|(glob, _)| glob.matches(caller));
    matching.fold(Decided::default(), |decided, (_, next)| decided.or(*next))
}
