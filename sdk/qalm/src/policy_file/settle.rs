//! A file is believed once it was read twice alike: who writes in place is not
//! caught halfway, where the half may be a policy too.

/// What was seen, and what was believed last.
#[derive(Debug)]
pub(super) struct Settle<T> {
    believed: T,
    seen: Option<T>,
}

/// What an observation leads to.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Step<T> {
    /// It is as it was.
    Unchanged,
    /// It changes: look again soon.
    LookAgain,
    /// It has changed to this.
    Changed(T),
}

impl<T: Clone + PartialEq> Settle<T> {
    pub(super) fn new(believed: T) -> Self {
        Self { believed, seen: None }
    }

    pub(super) fn observe(&mut self, now: T) -> Step<T> {
        if now == self.believed {
            self.seen = None;
            return Step::Unchanged;
        }
        if self.seen.as_ref() != Some(&now) {
            self.seen = Some(now);
            return Step::LookAgain;
        }
        self.seen = None;
        self.believed = now.clone();
        Step::Changed(now)
    }

    /// Something was seen once.
    pub(super) fn is_moving(&self) -> bool {
        self.seen.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_once_is_not_believed() {
        let mut file = Settle::new("old");
        assert_eq!(file.observe(""), Step::LookAgain);
        assert_eq!(file.observe("ne"), Step::LookAgain);
        assert_eq!(file.observe("new"), Step::LookAgain);
        assert!(file.is_moving());
        assert_eq!(file.observe("new"), Step::Changed("new"));
        assert_eq!(file.observe("new"), Step::Unchanged);
        assert!(!file.is_moving());
    }

    #[test]
    fn what_was_only_touched_has_not_changed() {
        let mut file = Settle::new("old");
        assert_eq!(file.observe(""), Step::LookAgain);
        assert_eq!(file.observe("old"), Step::Unchanged);
        assert_eq!(file.observe(""), Step::LookAgain);
    }
}
