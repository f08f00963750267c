//! Runs many cases at once without their getting in each other's way.
//!
//! A case that waits needs little CPU; how many run at once is bounded by the
//! requests a second that they offer together. A case over sockets has the machine
//! for itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use parking_lot::{Condvar, Mutex};

use crate::capacity::Capacities;
use crate::case::{Case, Place};
use crate::io::open_loop;
use crate::load::arrivals;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::shedders::Truth;
use crate::sockets::{self, Ran};

/// What a case in this process may add to: requests a second of all together. A
/// request costs about 8 µs, so this is about half of one core.
const RATE_AT_ONCE: f64 = 70_000.0;
const THREADS: usize = 48;

/// Runs them all; outcomes in the order of the cases, `None` for a case that could
/// not be run: one server process that did not start must not cost all the others.
///
/// # Errors
/// A case panicked.
pub fn run(cases: Vec<Case>, capacities: &Capacities) -> Result<Vec<Option<Outcome>>> {
    let total = cases.len();
    let (alone, together): (Vec<_>, Vec<_>) = cases
        .into_iter()
        .enumerate()
        .partition(|(_, case)| matches!(case.place, Place::Sockets(_)));
    let progress = Progress { done: AtomicUsize::new(0), total };
    let mut outcomes = run_together(together, capacities, &progress)?;
    for (index, case) in alone {
        outcomes.push((index, kept(&case, run_one(&case, capacities))));
        progress.tick(&case);
    }
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn kept(case: &Case, outcome: Result<Outcome>) -> Option<Outcome> {
    let left_out = |error: &anyhow::Error| {
        let (title, factor, seed) = (case.title(), case.factor, case.seed);
        eprintln!("left out: {title} {} at {factor} C, seed {seed}: {error:#}", case.shedder);
    };
    outcome.inspect_err(left_out).ok()
}

struct Progress {
    done: AtomicUsize,
    total: usize,
}

impl Progress {
    fn tick(&self, case: &Case) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let (title, factor, seed) = (case.title(), case.factor, case.seed);
        eprintln!("[{done}/{}] {title} {} at {factor} C, seed {seed}", self.total, case.shedder);
    }
}

type Numbered<T> = Vec<(usize, T)>;

fn run_together(
    mut cases: Numbered<Case>,
    capacities: &Capacities,
    progress: &Progress,
) -> Result<Numbered<Option<Outcome>>> {
    // The longest first, so that no long one is left for the end. Taken from the back.
    cases.sort_by(|a, b| a.1.length().total_cmp(&b.1.length()));
    let room = Arc::new(Room { waiting: Mutex::new((cases, 0.0)), freed: Condvar::new() });
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let worker = || {
            while let Some((index, case, rate)) = room.take(capacities.io) {
                let outcome = run_one(&case, capacities);
                room.leave(rate);
                outcomes.lock().push((index, kept(&case, outcome)));
                progress.tick(&case);
            }
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|it| it.join().ok())
    })
    .context("a case panicked")?;
    Ok(outcomes.into_inner())
}

/// The cases that wait, and the requests a second of those that run.
struct Room {
    waiting: Mutex<(Numbered<Case>, f64)>,
    freed: Condvar,
}

impl Room {
    /// The next case that there is room for, and its rate; `None` if none is left.
    fn take(&self, capacity: f64) -> Option<(usize, Case, f64)> {
        let mut waiting = self.waiting.lock();
        loop {
            if waiting.0.is_empty() {
                return None;
            }
            let running = waiting.1;
            let rate = |case: &Case| case.mean() * capacity;
            let fits =
                |(_, case): &(usize, Case)| running == 0.0 || running + rate(case) <= RATE_AT_ONCE;
            if let Some(at) = waiting.0.iter().rposition(fits) {
                let (index, case) = waiting.0.remove(at);
                let rate = rate(&case);
                waiting.1 += rate;
                return Some((index, case, rate));
            }
            self.freed.wait(&mut waiting);
        }
    }

    fn leave(&self, rate: f64) {
        self.waiting.lock().1 -= rate;
        self.freed.notify_all();
    }
}

fn run_one(case: &Case, capacities: &Capacities) -> Result<Outcome> {
    let capacity = capacities.of(&case.place);
    let Ran { records, figures } = match &case.place {
        Place::Io(_) => Ran { records: run_io(case, capacity)?, figures: Vec::new() },
        Place::Sockets(server) => sockets::run(case, server, capacity)?,
    };
    let mut outcome = Outcome::of(case, &records, capacity);
    outcome.figures.extend(figures);
    anyhow::ensure!(outcome.counts.add_up(), "{}: requests without a fate", case.title());
    Ok(outcome)
}

fn run_io(case: &Case, capacity: f64) -> Result<Vec<Record>> {
    let Place::Io(plan) = &case.place else { anyhow::bail!("not in this process") };
    let arrivals = arrivals(&case.streams, capacity, case.seed);
    let truth =
        Truth { places: plan.places, capacity, endpoints: case.endpoints(), seed: case.seed };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start a runtime")?;
    Ok(runtime.block_on(async {
        let admission = case.shedder.build(truth);
        open_loop(admission, plan.clone(), &arrivals, case.seed, case.drain).await
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Piece, Stream};
    use crate::outcome::tests::case;
    use crate::shedders::Shedder;

    fn room(rates: &[f64]) -> Room {
        let numbered = rates.iter().enumerate().map(|(index, &factor)| {
            let pieces = vec![Piece { from: 0.0, to: 1.0, factor }];
            let level = plimsoll_shedding::Criticality::Internal;
            let streams = vec![Stream::new(level, pieces)];
            (index, Case { streams, ..case(Shedder::None, factor, 1) })
        });
        Room { waiting: Mutex::new((numbered.collect(), 0.0)), freed: Condvar::new() }
    }

    #[test]
    fn cases_run_beside_each_other_as_far_as_their_rates_allow() {
        // At 10,000 a second: 70,000 fit.
        let room = room(&[1.0, 4.0, 4.0, 3.0]);
        let (index, _, rate) = room.take(10_000.0).unwrap();
        assert_eq!((index, rate), (3, 30_000.0));
        assert_eq!(room.take(10_000.0).map(|it| it.0), Some(2));
        room.leave(30_000.0);
        room.leave(40_000.0);
        assert_eq!(room.take(10_000.0).map(|it| it.0), Some(1));
        assert_eq!(room.take(10_000.0).map(|it| it.0), Some(0));
        assert!(room.take(10_000.0).is_none());
    }

    #[test]
    fn a_case_that_is_too_much_for_any_room_runs_alone() {
        assert!(room(&[100.0]).take(10_000.0).is_some());
    }
}
