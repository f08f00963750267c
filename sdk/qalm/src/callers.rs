//! Callers by number, as many as are worth telling apart. Names come from
//! outside: whoever makes them up must not make memory or labels grow.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use plimsoll_shedding::request::CallerIndex;

/// Callers that have a number of their own; the rest share one.
const MAX_CALLERS: usize = 1000;
/// Callers that have a label of their own in metrics; the rest share one.
const MAX_LABELS: usize = 50;
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

#[derive(Debug)]
pub(crate) struct Callers {
    by_name: Mutex<HashMap<Box<str>, Caller>>,
    unnamed: Arc<str>,
    other: Arc<str>,
}

impl Default for Callers {
    fn default() -> Self {
        Self {
            by_name: Mutex::default(),
            unnamed: Arc::from(UNNAMED_LABEL),
            other: Arc::from(OTHER_LABEL),
        }
    }
}

impl Callers {
    pub(crate) fn unnamed(&self) -> Caller {
        Caller { index: UNNAMED, label: Arc::clone(&self.unnamed), known: true }
    }

    /// The caller of that name; a new one is numbered while there is room.
    pub(crate) fn named(&self, name: &str) -> Caller {
        let mut by_name = self.by_name.lock();
        if let Some(caller) = by_name.get(name) {
            return caller.clone();
        }
        if by_name.len() >= MAX_CALLERS {
            let label = Arc::clone(&self.other);
            return Caller { index: OTHERS, label, known: false };
        }
        let caller = self.numbered(by_name.len(), name);
        by_name.insert(name.into(), caller.clone());
        caller
    }

    fn numbered(&self, before: usize, name: &str) -> Caller {
        let label = if before < MAX_LABELS { Arc::from(name) } else { Arc::clone(&self.other) };
        Caller { index: CallerIndex(FIRST + before as u32), label, known: true }
    }
}

#[cfg(test)]
mod tests {
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
