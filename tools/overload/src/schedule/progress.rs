//! How far a run is, and how long it will take from there.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::job::{Job, Lane};
use super::{RATE_AT_ONCE, SERVED_AT_ONCE};
use crate::capacity::Capacities;

/// A line on standard error now and then.
#[derive(Debug)]
pub(super) struct Progress {
    total: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    done: usize,
    /// Seconds that what is not done will take.
    left: f64,
    said: Instant,
}

/// From one line to the next at least.
const EVERY: Duration = Duration::from_secs(5);

impl Progress {
    pub(super) fn new(jobs: &[Job], capacities: &Capacities) -> Self {
        let left = jobs.iter().map(|job| seconds(job, capacities)).sum();
        eprintln!("{} runs, {}", jobs.len(), about(left));
        let state = State { done: 0, left, said: Instant::now() };
        Self { total: jobs.len(), state: Mutex::new(state) }
    }

    /// A job has ended.
    pub(super) fn tick(&self, job: &Job, capacities: &Capacities) {
        let mut state = self.state.lock();
        state.done += 1;
        state.left -= seconds(job, capacities);
        if state.said.elapsed() >= EVERY || state.done == self.total {
            state.said = Instant::now();
            eprintln!("[{}/{}] {} left; {job}", state.done, self.total, about(state.left));
        }
    }
}

/// What a job adds to the whole: of one that runs beside others, its part of the room.
fn seconds(job: &Job, capacities: &Capacities) -> f64 {
    match job.lane() {
        Lane::Waits => job.length() * job.rate(capacities) / RATE_AT_ONCE,
        Lane::Beside => job.length() * job.rate(capacities) / SERVED_AT_ONCE,
        Lane::Alone => job.length(),
    }
}

fn about(seconds: f64) -> String {
    match seconds.max(0.0).round() as u64 {
        short @ 0..100 => format!("about {short} s"),
        long => format!("about {} min", (long + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_what_it_is_best_counted_in() {
        assert_eq!(about(-1.0), "about 0 s");
        assert_eq!(about(99.0), "about 99 s");
        assert_eq!(about(1_000.0), "about 17 min");
    }
}
