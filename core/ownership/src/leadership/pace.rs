//! A bounded rate: everybody comes back at once after an outage, and is let in one
//! after the other. The generic cell rate algorithm (ITU-T I.371) with a queue.

use std::time::Duration;

use plimsoll_placement::time::Time;

/// Turns that are given out at a rate.
#[derive(Debug, Default)]
pub struct Pace {
    /// When the next turn would be if none had ever been left unused.
    next: Time,
}

impl Pace {
    /// The next turn, `every` so often, after up to `burst` that come at once.
    ///
    /// # Errors
    /// It would be later than in `longest`: how much later than now. It is not taken.
    pub fn turn(
        &mut self,
        now: Time,
        every: Duration,
        burst: u32,
        longest: Duration,
    ) -> Result<Time, Duration> {
        let spared = every * burst;
        let turn = self.next.max(now);
        let due = Time::from_nanos(
            turn.as_nanos().saturating_sub(u64::try_from(spared.as_nanos()).unwrap_or(u64::MAX)),
        )
        .max(now);
        if due - now > longest {
            return Err(due - now);
        }
        self.next = turn + every;
        Ok(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(10);

    fn turns(pace: &mut Pace, now: Time, count: usize) -> Vec<Duration> {
        let turn = |_| pace.turn(now, EVERY, 3, Duration::MAX).unwrap() - now;
        (0..count).map(turn).collect()
    }

    #[test]
    fn those_who_come_at_once_are_spread_after_a_burst() {
        let waits = turns(&mut Pace::default(), Time::from_millis(1000), 6);
        assert_eq!(waits, [0, 0, 0, 0, 10, 20].map(Duration::from_millis));
    }

    #[test]
    fn time_without_anybody_gives_the_burst_back_and_no_more() {
        let mut pace = Pace::default();
        turns(&mut pace, Time::from_millis(1000), 6);
        let waits = turns(&mut pace, Time::from_millis(9000), 5);
        assert_eq!(waits, [0, 0, 0, 0, 10].map(Duration::from_millis));
    }

    #[test]
    fn who_would_wait_too_long_is_told_how_long_and_takes_no_turn() {
        let (mut pace, now) = (Pace::default(), Time::from_millis(1000));
        turns(&mut pace, now, 14);
        let longest = Duration::from_millis(50);
        let wait = Duration::from_millis(110);
        assert_eq!(pace.turn(now, EVERY, 3, longest), Err(wait));
        assert_eq!(pace.turn(now, EVERY, 3, longest), Err(wait));
    }
}
