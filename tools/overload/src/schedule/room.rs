//! Who may run now.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::job::{Job, Lane};
use super::{RATE_AT_ONCE, SERVED_AT_ONCE};
use crate::capacity::Capacities;

/// The jobs that wait, and the requests a second of those that run.
#[derive(Debug)]
pub(super) struct Room {
    limit: f64,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    /// With their rates; the longest last, from where they are taken.
    waiting: Vec<(Job, f64)>,
    running: f64,
    /// When the next may start.
    next: Instant,
}

/// From one start to the next: what every run does at its own second 1 must not happen
/// in all of them at once.
const APART: Duration = Duration::from_millis(20);

impl Room {
    /// The longest start first, so that no long one is left for the end.
    pub(super) fn new(jobs: Vec<Job>, capacities: &Capacities, lane: Lane) -> Self {
        let limit = match lane {
            Lane::Waits => RATE_AT_ONCE,
            Lane::Beside => SERVED_AT_ONCE,
            Lane::Alone => 0.0,
        };
        let rated = |job: Job| {
            let rate = job.rate(capacities);
            (job, rate)
        };
        let mut waiting: Vec<_> = jobs.into_iter().map(rated).collect();
        if lane != Lane::Alone {
            waiting.sort_by(|a, b| a.0.length().total_cmp(&b.0.length()));
        } else {
            // In the order of the experiments.
            waiting.reverse();
        }
        Self {
            limit,
            state: Mutex::new(State { waiting, running: 0.0, next: Instant::now() }),
            freed: Condvar::new(),
        }
    }

    /// How many can run at once at most.
    pub(super) fn most(&self) -> usize {
        if self.limit == 0.0 { 1 } else { self.state.lock().waiting.len() }
    }

    /// The next job that there is room for, once it may start, and its rate; `None` if
    /// none is left.
    pub(super) fn take(&self) -> Option<(Job, f64)> {
        let mut state = self.state.lock();
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            let running = state.running;
            let fits = |(_, rate): &(Job, f64)| running == 0.0 || running + rate <= self.limit;
            if let Some(at) = state.waiting.iter().rposition(fits) {
                let (job, rate) = state.waiting.remove(at);
                state.running += rate;
                let start = state.next.max(Instant::now());
                state.next = start + APART;
                drop(state);
                std::thread::sleep(start.saturating_duration_since(Instant::now()));
                return Some((job, rate));
            }
            self.freed.wait(&mut state);
        }
    }

    /// A job of that rate has ended.
    pub(super) fn leave(&self, rate: f64) {
        let mut state = self.state.lock();
        state.running -= rate;
        // What rounding leaves must not keep the last ones out.
        if state.running < 1e-6 {
            state.running = 0.0;
        }
        drop(state);
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::job;
    use super::*;
    use crate::case::Case;
    use crate::load::{Piece, Stream};
    use crate::outcome::tests::case;
    use crate::shedders::Shedder;

    /// Cases of these parts of the limit, in that order.
    fn room(parts: &[f64], lane: Lane) -> Room {
        let capacities = Capacities::known(RATE_AT_ONCE);
        let of = |(seed, &factor): (usize, &f64)| {
            let pieces = vec![Piece { from: 0.0, to: 1.0, factor }];
            let streams = vec![Stream::new(plimsoll_shedding::Criticality::Internal, pieces)];
            Case { streams, ..case(Shedder::None, factor, seed as u64) }
        };
        Room::new(job::of(parts.iter().enumerate().map(of).collect()), &capacities, lane)
    }

    fn taken(room: &Room) -> Option<f64> {
        room.take().map(|(job, _)| job.first().factor)
    }

    #[test]
    fn jobs_run_beside_each_other_as_far_as_their_rates_allow() {
        let room = room(&[0.2, 0.4, 0.45, 0.3], Lane::Waits);
        assert_eq!(taken(&room), Some(0.3));
        assert_eq!(taken(&room), Some(0.45));
        // 0.4 does not fit beside these.
        assert_eq!(taken(&room), Some(0.2));
        room.leave(0.45 * RATE_AT_ONCE);
        assert_eq!(taken(&room), Some(0.4));
        assert_eq!(taken(&room), None);
    }

    #[test]
    fn what_is_too_much_for_any_room_or_must_be_alone_runs_alone() {
        assert_eq!(taken(&room(&[100.0], Lane::Waits)), Some(100.0));
        let alone = room(&[0.1, 0.2], Lane::Alone);
        assert_eq!(taken(&alone), Some(0.1));
        alone.leave(0.1 * RATE_AT_ONCE);
        assert_eq!(taken(&alone), Some(0.2));
    }
}
