//! Judges what was written down. It knows nothing of leases or of servers: two
//! owners at once are a failure, whoever had good reasons.
//!
//! Of ownership only what is certain is judged, so that no delay of a process
//! between reading the clock and asking can raise a false alarm. What
//! applications were told to start and stop is judged too, except where a process
//! stood still: it could not have stopped anything then, and `owns` is what
//! protects it.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_testkit::chaos::Moment;

use super::book::{Book, Span};

/// A drain that was acknowledged is carried out within this: a lease, and the
/// faults that may be under way.
const DRAINED_WITHIN: Duration = Duration::from_secs(15);

/// Something that must never happen and did.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Violation {
    pub(super) at: Moment,
    pub(super) what: String,
}

/// An order that a shard, or a host, carries no work of a namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Drain {
    pub(super) of: Drained,
    /// When the order was confirmed.
    pub(super) from: Moment,
    /// When it was about to be taken back.
    pub(super) to: Option<Moment>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Drained {
    /// With its namespace.
    Shard(String),
    /// Executors are called like their hosts here.
    Host { namespace: String, host: String },
}

/// Everything that is wrong, in order of time.
pub(super) fn judge(book: &Book, drains: &[Drain]) -> Vec<Violation> {
    let mut all = double_owners(book);
    all.extend(overlapping_spans(book));
    all.extend(generations_that_shrink(book));
    all.extend(drains.iter().flat_map(|drain| broken_drain(book, drain)));
    let no_time = |what: &String| Violation { at: Moment::default(), what: what.clone() };
    all.extend(book.contradictions.iter().map(no_time));
    all.sort();
    all
}

fn double_owners(book: &Book) -> Vec<Violation> {
    let mut found = Vec::new();
    for (shard, claims) in &book.claims {
        let mut before: Option<(&u64, &str, Moment)> = None;
        for (generation, claim) in claims {
            if let Some((earlier, other, until)) = before
                && claim.from <= until
            {
                let (who, long) = (&claim.executor, until - claim.from);
                let what = format!(
                    "{who} owned {shard} (grant {generation}) while {other} did (grant {earlier}), for {long:?}"
                );
                found.push(Violation { at: claim.from, what });
            }
            if before.is_none_or(|(_, _, until)| claim.to >= until) {
                before = Some((generation, &claim.executor, claim.to));
            }
        }
    }
    found
}

/// Spans by shard, in order of begin.
fn by_shard(book: &Book) -> BTreeMap<&str, Vec<&Span>> {
    let mut shards: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    for span in &book.spans {
        shards.entry(&span.shard).or_default().push(span);
    }
    shards.values_mut().for_each(|spans| spans.sort_by_key(|span| span.from));
    shards
}

fn overlapping_spans(book: &Book) -> Vec<Violation> {
    let mut found = Vec::new();
    for (shard, spans) in by_shard(book) {
        for pair in spans.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            let ended = first.to.is_some_and(|to| to < second.from);
            if !ended && !stood_still(book, first) {
                let (one, two) = (&first.executor, &second.executor);
                let what = format!("{two} started {shard} before {one} had stopped it");
                found.push(Violation { at: second.from, what });
            }
        }
    }
    found
}

fn stood_still(book: &Book, span: &Span) -> bool {
    let stalls = book.stalls.get(&span.executor).into_iter().flatten();
    let within =
        |(from, to): &(Moment, Moment)| *to > span.from && span.to.is_none_or(|end| *from < end);
    stalls.into_iter().any(within)
}

fn generations_that_shrink(book: &Book) -> Vec<Violation> {
    let mut found = Vec::new();
    for (shard, spans) in by_shard(book) {
        for pair in spans.windows(2) {
            let (first, second) = (pair[0], pair[1]);
            if second.generation <= first.generation {
                let (who, now, before) = (&second.executor, second.generation, first.generation);
                let what = format!("{who} started {shard} with generation {now} after {before}");
                found.push(Violation { at: second.from, what });
            }
        }
    }
    found
}

fn broken_drain(book: &Book, drain: &Drain) -> Vec<Violation> {
    let from = drain.from.plus(DRAINED_WITHIN);
    let mut found = Vec::new();
    for (shard, claims) in &book.claims {
        for claim in claims.values().filter(|claim| drain.of.covers(shard, &claim.executor)) {
            if claim.to > from && drain.to.is_none_or(|to| claim.from < to) {
                let (who, what) = (&claim.executor, &drain.of);
                let what = format!("{who} owned {shard} in spite of a drain of {what:?}");
                found.push(Violation { at: claim.to, what });
            }
        }
    }
    found
}

impl Drained {
    /// Whether this executor must not run this shard.
    pub(super) fn covers(&self, shard: &str, executor: &str) -> bool {
        match self {
            Self::Shard(drained) => drained == shard,
            Self::Host { namespace, host } => {
                host == executor && shard.split_once('/').is_some_and(|(of, _)| of == namespace)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Entry, Log};
    use super::*;

    fn at(second: u64) -> Moment {
        Moment::from_nanos(second * 1_000_000_000)
    }

    fn owns(from: u64, to: u64, generation: u64) -> Entry {
        let shards = vec![("orders/1".to_owned(), generation)];
        Entry::Owns { from: at(from), to: at(to), shards }
    }

    fn started(second: u64, generation: u64) -> Entry {
        Entry::Started { at: at(second), shard: "orders/1".to_owned(), generation }
    }

    fn stopped(second: u64, generation: u64) -> Entry {
        Entry::Stopped { at: at(second), shard: "orders/1".to_owned(), generation }
    }

    /// A book that was read from files of two executors.
    fn book(of_a: &[Entry], of_b: &[Entry]) -> Book {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, entries: &[Entry]| {
            let path = folder.path().join(name);
            let log = Log::open(&path).unwrap();
            entries.iter().for_each(|entry| log.append(entry));
            (name.to_owned(), path)
        };
        let mut book = Book::of([write("a", of_a), write("b", of_b)]);
        book.read().unwrap();
        book
    }

    fn faults(of_a: &[Entry], of_b: &[Entry]) -> usize {
        judge(&book(of_a, of_b), &[]).len()
    }

    #[test]
    fn one_owner_after_the_other_is_as_it_should_be() {
        let a = [started(1, 1), owns(2, 2, 1), owns(5, 5, 1), stopped(6, 1)];
        let b = [started(7, 2), owns(8, 8, 2), owns(9, 9, 2)];
        assert_eq!(faults(&a, &b), 0);
    }

    #[test]
    fn two_owners_at_once_are_found_from_what_they_said_themselves() {
        assert_eq!(faults(&[owns(2, 2, 1), owns(5, 5, 1)], &[owns(4, 4, 2)]), 1);
        assert_eq!(faults(&[owns(2, 2, 1), owns(6, 6, 1)], &[owns(4, 4, 2), owns(5, 5, 2)]), 1);
    }

    #[test]
    fn an_answer_of_one_who_owns_it_no_more_is_found() {
        let answered = Entry::Answered {
            due: at(1),
            shard: "orders/1".to_owned(),
            executor: "a".to_owned(),
            generation: 1,
            from: at(5),
            to: at(5),
        };
        assert_eq!(faults(&[owns(2, 2, 1), answered], &[owns(4, 4, 2)]), 1);
    }

    #[test]
    fn what_is_not_certain_is_no_alarm() {
        assert_eq!(faults(&[owns(2, 2, 1), owns(3, 9, 1)], &[owns(4, 5, 2)]), 0);
    }

    #[test]
    fn two_owners_by_one_grant_are_found() {
        assert_eq!(faults(&[owns(2, 2, 1)], &[owns(4, 4, 1)]), 1);
    }

    #[test]
    fn a_start_before_the_stop_is_found_unless_the_process_stood_still() {
        let b = [started(5, 2)];
        assert_eq!(faults(&[started(1, 1), stopped(6, 1)], &b), 1);
        let stalled = Entry::Stalled { from: at(2), to: at(6) };
        assert_eq!(faults(&[started(1, 1), stalled, stopped(7, 1)], &b), 0);
    }

    #[test]
    fn a_generation_that_shrinks_is_found() {
        assert_eq!(faults(&[started(1, 5), stopped(2, 5)], &[started(3, 4)]), 1);
    }

    #[test]
    fn a_drain_that_does_not_hold_is_found() {
        let book = book(&[owns(30, 30, 1)], &[]);
        let drain = |from, to| {
            let of = Drained::Shard("orders/1".to_owned());
            judge(&book, &[Drain { of, from: at(from), to }]).len()
        };
        assert_eq!(drain(1, None), 1);
        assert_eq!(drain(1, Some(at(29))), 0);
        assert_eq!(drain(20, None), 0);
        let host = |host: &str| Drained::Host { namespace: "orders".into(), host: host.into() };
        let judged = |of| judge(&book, &[Drain { of, from: at(1), to: None }]).len();
        assert_eq!((judged(host("a")), judged(host("b"))), (1, 0));
    }
}
