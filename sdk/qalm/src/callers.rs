//! Callers by number, as many as are worth telling apart. Names come from
//! outside: whoever makes them up must not make memory or labels grow.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use plimsoll_shedding::policy::Policy;
use plimsoll_shedding::request::CallerIndex;

/// Callers that have a number of their own though no policy names them; the rest
/// share one.
const MAX_CALLERS: usize = 1000;
/// Those of them that have a label of their own in metrics; the rest share one.
const MAX_LABELS: usize = 50;
/// Callers that a policy names and that have a label of their own.
const MAX_DESCRIBED_LABELS: usize = 1000;
/// A longer name is nobody's.
pub(crate) const MAX_NAME_BYTES: usize = 128;

/// Requests without a name.
const UNNAMED: CallerIndex = CallerIndex(0);
/// All callers beyond the bound.
const OTHERS: CallerIndex = CallerIndex(1);
const FIRST: u32 = 2;

/// The label of callers beyond the bound.
pub(crate) const OTHER_LABEL: &str = "other";
/// The label of requests without a caller's name.
pub(crate) const UNNAMED_LABEL: &str = "unknown";

/// One caller, as the shedder and the metrics know it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Caller {
    pub(crate) index: CallerIndex,
    pub(crate) label: Arc<str>,
    /// It has a number of its own, and may be kept by name.
    pub(crate) known: bool,
}

/// Whose label it is.
#[cfg(feature = "policy-sync")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// Of those without a name.
    Unnamed,
    Named,
    /// Of all beyond the bound.
    Others,
}

#[derive(Debug)]
pub(crate) struct Callers {
    known: Mutex<Known>,
    unnamed: Arc<str>,
    other: Arc<str>,
}

#[derive(Debug, Default)]
struct Known {
    by_name: HashMap<Box<str>, Caller>,
    /// Those that a policy names, now or before.
    described: usize,
}

impl Known {
    fn strangers(&self) -> usize {
        self.by_name.len() - self.described
    }

    fn add(&mut self, name: &str, label: Arc<str>) -> Caller {
        let index = CallerIndex(FIRST + self.by_name.len() as u32);
        let caller = Caller { index, label, known: true };
        self.by_name.insert(name.into(), caller.clone());
        caller
    }
}

impl Default for Callers {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            unnamed: Arc::from(UNNAMED_LABEL),
            other: Arc::from(OTHER_LABEL),
        }
    }
}

impl Callers {
    pub(crate) fn unnamed(&self) -> Caller {
        Caller { index: UNNAMED, label: Arc::clone(&self.unnamed), known: true }
    }

    /// Whose label this is.
    #[cfg(feature = "policy-sync")]
    pub(crate) fn told(&self, label: &Arc<str>) -> Told {
        match () {
            () if Arc::ptr_eq(label, &self.unnamed) => Told::Unnamed,
            () if Arc::ptr_eq(label, &self.other) => Told::Others,
            () => Told::Named,
        }
    }

    /// Those whom the policy names have a number, whoever came before them.
    pub(crate) fn describe(&self, policy: &Policy) {
        let mut known = self.known.lock();
        let names = policy.rules.iter().filter_map(|rule| rule.caller.as_deref());
        for name in names.filter(|name| !name.is_empty() && !name.contains('*')) {
            if known.by_name.get(name).is_some_and(|caller| *caller.label == *name) {
                continue;
            }
            let label = self.label(name, known.described < MAX_DESCRIBED_LABELS);
            match known.by_name.get_mut(name) {
                Some(caller) => caller.label = label,
                None => {
                    known.add(name, label);
                    known.described += 1;
                }
            }
        }
    }

    /// The caller of that name; a new one is numbered while there is room.
    pub(crate) fn named(&self, name: &str) -> Caller {
        let mut known = self.known.lock();
        if let Some(caller) = known.by_name.get(name) {
            return caller.clone();
        }
        let strangers = known.strangers();
        if strangers >= MAX_CALLERS {
            let label = Arc::clone(&self.other);
            return Caller { index: OTHERS, label, known: false };
        }
        known.add(name, self.label(name, strangers < MAX_LABELS))
    }

    /// A caller's label is its name, while there is room.
    fn label(&self, name: &str, has_room: bool) -> Arc<str> {
        if has_room { Arc::from(name) } else { Arc::clone(&self.other) }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::policy::Rule;

    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let callers = Callers::default();
        let first = callers.named("document");
        assert_ne!(first, callers.named("document-staging"));
        assert_eq!(first, callers.named("document"));
        assert_eq!(&*first.label, "document");
        assert_ne!(first.index, callers.unnamed().index);
    }

    #[test]
    fn whom_the_policy_names_has_a_number_and_a_label_whoever_came_before() {
        let rule = |caller: &str| Rule { caller: Some(caller.to_owned()), ..Rule::default() };
        let policy = |callers: &[&str]| Policy {
            rules: callers.iter().map(|it| rule(it)).collect(),
            ..Policy::default()
        };
        let callers = Callers::default();
        callers.describe(&policy(&["vip", "*-staging"]));
        let strangers: Vec<Caller> = (0..3000).map(|n| callers.named(&format!("c{n}"))).collect();
        callers.describe(&policy(&["vip", "late", "c999"]));
        for name in ["vip", "late", "c999"] {
            let caller = callers.named(name);
            assert_eq!((&*caller.label, caller.known), (name, true));
            let same = strangers.iter().filter(|it| it.index == caller.index).count();
            assert_eq!(same, usize::from(name == "c999"), "{name}");
        }
        assert_eq!(strangers[999].index, CallerIndex(FIRST + 1000), "one was described");
    }

    #[test]
    fn made_up_names_share_a_number_and_a_label() {
        let callers = Callers::default();
        let all: Vec<Caller> = (0..3000).map(|n| callers.named(&format!("c{n}"))).collect();
        let labels: std::collections::HashSet<_> = all.iter().map(|it| &it.label).collect();
        assert_eq!(labels.len(), MAX_LABELS + 1);
        assert_eq!(all[999].index, CallerIndex(FIRST + 999));
        assert!(all[1000..].iter().all(|it| it.index == OTHERS && !it.known));
        assert_eq!(callers.named("c7"), all[7], "those who came first keep theirs");
    }
}
