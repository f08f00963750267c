//! What a policy's review has found, as sentences for its owner.

use super::table::Table;
use super::{Finding, Matter};
use crate::settings::Enforcement;

impl Table {
    /// Rules and groups that never do anything, one sentence each: what
    /// [`review`](Self::review) finds.
    pub fn findings(&self) -> Vec<String> {
        self.review().into_iter().map(|finding| self.told(finding)).collect()
    }

    fn told(&self, Finding { at, because_of }: Finding) -> String {
        let named = self.named(at);
        match (at, because_of) {
            (_, Some(other)) => {
                format!("{named} never decides anything: {} always wins", self.named(other))
            }
            (Matter::Group(_), None) => {
                format!("{named} is unused: all its endpoints are bypassed")
            }
            (Matter::Rule(_), None) if self.policy().enforcement == Enforcement::Off => {
                format!("{named} does nothing: everything is off, or its endpoints are bypassed")
            }
            (Matter::Rule(_), None) => {
                format!("{named} never decides anything: its endpoints are bypassed")
            }
        }
    }

    /// A rule or a group, as its owner would call it.
    pub fn named(&self, matter: Matter) -> String {
        match matter {
            Matter::Rule(index) => {
                let rule = self.policy().rules.get(index.0 as usize);
                let of = |name, it: Option<&String>| it.map(|it| format!("{name} {it:?}"));
                let endpoint = of("endpoint", rule.and_then(|it| it.endpoint.as_ref()));
                let caller = of("caller", rule.and_then(|it| it.caller.as_ref()));
                let both: Vec<_> = endpoint.into_iter().chain(caller).collect();
                format!("rule {} ({})", index.0 + 1, both.join(", "))
            }
            Matter::Group(index) => {
                let name = self.policy().groups.get(index.0 as usize).map_or("", |it| &it.name);
                format!("group {name:?}")
            }
        }
    }
}
