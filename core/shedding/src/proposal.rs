//! A first policy, proposed from calls that were traced: who calls which endpoint,
//! and what is known of how much it matters.
//!
//! There is nothing to judge by but names, hours, and what a call serves. So every
//! level comes with the reason for it, what cannot be told stays at the default and
//! says so, and the policy that is written down enforces nothing yet: it is a draft
//! for whoever knows the service. This decides nothing while a service runs.

mod because;
mod heuristics;
mod hours;
mod judging;
mod naming;
mod observed;
mod text;

use crate::criticality::Criticality;
use crate::policy::{Place, Policy, Rule, Table};
use crate::settings::Enforcement;

pub use because::{Because, Serves};
pub use heuristics::Heuristics;
pub use naming::{Spoken, endpoint};
pub use observed::{Call, Observed, Root};

/// A first policy for one service, rule by rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub service: String,
    /// Calls of the service that it was made from.
    pub calls: u64,
    /// Seconds from the first call to the last, of all services.
    pub seconds: u64,
    /// Endpoints that are never to be queued nor refused.
    pub bypass: Vec<String>,
    /// What is to stand in the policy, the most critical first.
    pub rules: Vec<Proposed>,
    /// What stays at the default, for people to look at first.
    pub unclear: Vec<Proposed>,
}

/// A level for an endpoint, a caller, or both.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proposed {
    /// `None`: every endpoint.
    pub endpoint: Option<String>,
    /// `None`: everybody.
    pub caller: Option<String>,
    pub level: Criticality,
    pub because: Because,
    /// How many calls it is about.
    pub calls: u64,
}

impl Proposal {
    /// What is proposed for a service; `None`: it was never called.
    pub fn of(service: &str, observed: &Observed, heuristics: &Heuristics) -> Option<Self> {
        let mut proposal = judging::judge(service, observed, heuristics)?;
        proposal.leave_out_wildcards();
        proposal.leave_out_what_is_invalid();
        Some(proposal)
    }

    /// The policy, in dry-run.
    pub fn policy(&self) -> Policy {
        Policy {
            enforcement: Enforcement::DryRun,
            bypass: self.bypass.clone(),
            rules: self.rules.iter().map(Proposed::rule).collect(),
            ..Policy::default()
        }
    }

    /// The policy as a policy file, with the reasons.
    pub fn text(&self) -> String {
        text::of(self)
    }

    /// A caller whose name is a pattern would speak for others.
    fn leave_out_wildcards(&mut self) {
        let is_pattern =
            |it: &mut Proposed| it.caller.as_deref().is_some_and(|it| it.contains('*'));
        let patterns = self.rules.extract_if(.., is_pattern);
        self.unclear.extend(patterns.map(|it| Proposed { because: Because::Invalid, ..it }));
    }

    /// Names come from outside: what no policy can hold, or what would contradict
    /// another rule, is left to people.
    fn leave_out_what_is_invalid(&mut self) {
        while let Err(error) = Table::compile(&self.policy()) {
            match error.place {
                Place::Rule(at) if at < self.rules.len() => {
                    let rule = self.rules.remove(at);
                    self.unclear.push(Proposed { because: Because::Invalid, ..rule });
                }
                Place::Bypass(at) if at < self.bypass.len() => drop(self.bypass.remove(at)),
                // More of them than a policy holds.
                _ => {
                    self.rules.truncate(self.rules.len() / 2);
                    self.bypass.truncate(self.bypass.len() / 2);
                }
            }
        }
    }
}

impl Proposed {
    fn rule(&self) -> Rule {
        Rule {
            endpoint: self.endpoint.clone(),
            caller: self.caller.clone(),
            criticality: Some(self.level),
            enforcement: None,
        }
    }
}
