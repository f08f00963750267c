//! The time of each fault, and what happened in it.

use plimsoll_testkit::chaos::Moment;
use serde::Serialize;

use super::book::{Book, is_created};
use super::fault::Kind;

/// From the first blow until all was well again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Window {
    pub(super) kind: Kind,
    pub(super) from: Moment,
    /// The fault is over.
    pub(super) mended: Moment,
    /// Every undrained shard had an owner again.
    pub(super) well: Moment,
    /// Nothing moves any more.
    pub(super) to: Moment,
}

/// What happened in the windows of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Effect {
    pub(super) fault: String,
    pub(super) times: usize,
    /// The longest time from the end of the fault until every shard had an owner.
    pub(super) slowest_recovery_s: f64,
    /// Changes of owner.
    pub(super) moves: usize,
    /// Leases that ended, one for each executor and namespace.
    pub(super) leases: usize,
    pub(super) lost: usize,
    /// The slowest answer, from when the request was due until it was carried out.
    pub(super) slowest_answer_s: f64,
    /// The most frequent cause of loss.
    pub(super) mostly: String,
    /// No move was called for.
    pub(super) moves_nothing: bool,
}

impl Window {
    pub(super) fn covers(&self, at: Moment) -> bool {
        self.from <= at && at < self.to
    }
}

/// One row a kind, in order of name.
pub(super) fn effects(book: &Book, windows: &[Window]) -> Vec<Effect> {
    let moves = moves(book);
    let mut kinds: Vec<_> = windows.iter().map(|window| window.kind).collect();
    kinds.sort_by_key(|kind| kind.as_str());
    kinds.dedup();
    let effect = |kind: Kind| {
        let here: Vec<_> = windows.iter().filter(|window| window.kind == kind).collect();
        let within = |at: Moment| here.iter().any(|window| window.covers(at));
        let recovery = here.iter().map(|window| (window.well - window.mended).as_secs_f64());
        let slow = book.slow.iter().filter(|slow| within(slow.due));
        let lost: Vec<_> = book.losses.iter().filter(|loss| within(loss.due)).collect();
        Effect {
            fault: kind.to_string(),
            times: here.len(),
            slowest_recovery_s: recovery.fold(0.0, f64::max),
            moves: moves.iter().filter(|at| within(**at)).count(),
            leases: book.lease_ends.iter().filter(|at| within(**at)).count(),
            lost: lost.len(),
            slowest_answer_s: slow.map(|slow| slow.took.as_secs_f64()).fold(0.0, f64::max),
            mostly: most_frequent(lost.iter().map(|loss| loss.cause.as_str())),
            moves_nothing: !kind.moves(),
        }
    };
    kinds.into_iter().map(effect).collect()
}

/// Requests that were lost while nothing was wrong, since all was well for the
/// first time.
pub(super) fn lost_outside(book: &Book, since: Moment, windows: &[Window]) -> usize {
    let outside = |at: Moment| at >= since && !windows.iter().any(|window| window.covers(at));
    book.losses.iter().filter(|loss| outside(loss.due)).count()
}

/// When a shard was first seen with another owner than before.
fn moves(book: &Book) -> Vec<Moment> {
    let mut moves = Vec::new();
    for (_, claims) in book.claims.iter().filter(|(shard, _)| !is_created(shard)) {
        let claims: Vec<_> = claims.values().collect();
        let pairs = claims.windows(2).filter(|pair| pair[0].executor != pair[1].executor);
        moves.extend(pairs.map(|pair| pair[1].from));
    }
    moves
}

fn most_frequent<'a>(causes: impl Iterator<Item = &'a str>) -> String {
    let mut causes: Vec<_> = causes.collect();
    causes.sort_unstable();
    let groups = causes.chunk_by(|one, other| one == other);
    groups.max_by_key(|group| group.len()).map_or_else(String::new, |group| group[0].to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::record::{Entry, Log};
    use super::*;

    fn at(second: u64) -> Moment {
        Moment::from_nanos(second * 1_000_000_000)
    }

    fn owns(second: u64, shard: &str, generation: u64) -> Entry {
        let shards = vec![(shard.to_owned(), generation)];
        Entry::Owns { from: at(second), to: at(second), shards }
    }

    #[test]
    fn moves_and_losses_belong_to_the_fault_in_whose_time_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, entries: &[Entry]| {
            let path = folder.path().join(name);
            let log = Log::open(&path).unwrap();
            entries.iter().for_each(|entry| log.append(entry));
            (name.to_owned(), path)
        };
        let lost =
            |second| Entry::Lost { due: at(second), shard: "orders/1".into(), cause: "x".into() };
        let ended = |second| Entry::LeaseEnded { at: at(second) };
        let mut book = Book::of([
            write(
                "a",
                &[owns(1, "orders/1", 1), owns(1, "jobs/1", 1), lost(12), lost(50), ended(13)],
            ),
            write("b", &[owns(12, "orders/1", 2), owns(12, "jobs/1", 2), owns(30, "orders/1", 3)]),
        ]);
        book.read().unwrap();
        let window = Window {
            kind: Kind::KillLeader,
            from: at(10),
            mended: at(13),
            well: at(14),
            to: at(16),
        };
        let effects = effects(&book, &[window]);
        let Effect { times, slowest_recovery_s, moves, leases, lost, .. } = &effects[0];
        // A later grant to the same owner is no move, and created shards are not counted.
        assert_eq!((*times, *slowest_recovery_s, *moves), (1, 1.0, 1));
        assert_eq!((*leases, *lost), (1, 1));
        assert_eq!((effects.len(), effects[0].mostly.as_str()), (1, "x"));
        assert_eq!(lost_outside(&book, at(0), &[window]), 1);
        assert_eq!(lost_outside(&book, at(51), &[window]), 0);
    }
}
