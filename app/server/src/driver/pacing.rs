//! How fast executors are let in after the leader has changed: all come at once, and
//! the server that takes them has only just begun. One after the other they make no
//! more requests than their beats do when all is well.

use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_ownership::leadership::Pace;
use plimsoll_ownership::namespace::Namespace;
use plimsoll_placement::time::Time;

/// A namespace with fewer executors than that lets them all in at once.
const FEW: u32 = 20;

/// The turns of executors that come back.
#[derive(Debug)]
pub struct Pacing {
    pace: Mutex<Pace>,
    /// From one hello to the next; zero: nobody waits.
    every: Duration,
    burst: u32,
    /// Who would wait longer is told to come again.
    longest: Duration,
}

impl Pacing {
    /// As many hellos as there are beats of the executors that are known already.
    pub fn of(namespace: &Namespace) -> Self {
        let known = u32::try_from(namespace.executors().len()).unwrap_or(u32::MAX);
        let (beat, lease) = (namespace.settings().beat, namespace.settings().lease);
        let every = if known <= FEW { Duration::ZERO } else { beat / known };
        Self { pace: Mutex::default(), every, burst: FEW, longest: lease / 4 }
    }

    /// When the next one may come in.
    ///
    /// # Errors
    /// Not soon: after so long it should try again.
    pub fn turn(&self, now: Time) -> Result<Time, Duration> {
        if self.every.is_zero() {
            return Ok(now);
        }
        self.pace.lock().turn(now, self.every, self.burst, self.longest)
    }
}
