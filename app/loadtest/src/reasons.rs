//! Counts texts that a server chooses, so their number and length are bounded.

use std::collections::BTreeMap;

use crate::report::Reason;

/// How many different texts are told apart.
const MAX_DIFFERENT: usize = 50;
const MAX_CHARACTERS: usize = 160;
const OTHERS: &str = "(others)";

/// How often each reason was met.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    counts: BTreeMap<String, u64>,
}

impl Reasons {
    pub(crate) fn count(&mut self, reason: &str) {
        let short = shortened(reason);
        let has_place = self.counts.len() < MAX_DIFFERENT || self.counts.contains_key(&short);
        let key = if has_place { short } else { OTHERS.to_owned() };
        *self.counts.entry(key).or_default() += 1;
    }

    /// Most frequent first.
    pub(crate) fn sorted(&self) -> Vec<Reason> {
        let reason =
            |(reason, count): (&String, &u64)| Reason { reason: reason.clone(), count: *count };
        let mut all: Vec<Reason> = self.counts.iter().map(reason).collect();
        all.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        all
    }
}

/// Without what a terminal would obey.
fn shortened(text: &str) -> String {
    let tame = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().take(MAX_CHARACTERS).map(tame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_comes_first() {
        let mut reasons = Reasons::default();
        ["b", "a", "b"].iter().for_each(|reason| reasons.count(reason));
        let sorted = reasons.sorted();
        assert_eq!(sorted[0], Reason { reason: "b".into(), count: 2 });
        assert_eq!(sorted[1], Reason { reason: "a".into(), count: 1 });
    }

    #[test]
    fn a_talkative_server_fills_no_memory() {
        let mut reasons = Reasons::default();
        (0..10_000).for_each(|n| reasons.count(&format!("{n}{}", "x".repeat(1000))));
        let sorted = reasons.sorted();
        assert_eq!(sorted.len(), MAX_DIFFERENT + 1);
        assert_eq!(sorted.iter().map(|reason| reason.count).sum::<u64>(), 10_000);
        assert!(sorted.iter().all(|reason| reason.reason.len() <= MAX_CHARACTERS));
    }

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        assert_eq!(shortened("a\x1b[31mb\n"), "a [31mb ");
    }
}
