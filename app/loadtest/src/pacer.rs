//! Wakes when each request is due. A thread of its own, since the runtime's timers
//! tick in milliseconds and starts would come in bursts.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::error::Error;
use crate::plan::Plan;
use crate::schedule::{Arrival, Schedule};

/// Arrivals that may wait for the dispatcher. When it falls behind, the pacer waits:
/// starts come later then, and their lag says so.
const WAITING: usize = 4096;
/// The longest nap, so that the end of a run is noticed.
const NAP: Duration = Duration::from_millis(50);

/// Starts the thread, which ends with the schedule or when the receiver is gone.
pub(crate) fn start(plan: &Plan, start: Instant) -> Result<mpsc::Receiver<Arrival>, Error> {
    let (due, arrivals) = mpsc::channel(WAITING);
    let (profile, mix) = (plan.profile(), plan.mix());
    let (kind, seed) = (plan.arrivals, plan.seed);
    let pace = move || {
        for arrival in Schedule::new(&profile, kind, &mix, seed) {
            nap_until(start + arrival.at, &due);
            if due.blocking_send(arrival).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("pacer".into()).spawn(pace).map_err(Error::Thread)?;
    Ok(arrivals)
}

fn nap_until(moment: Instant, due: &mpsc::Sender<Arrival>) {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() || due.is_closed() {
            return;
        }
        thread::sleep(left.min(NAP));
    }
}
