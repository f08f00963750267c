//! What is looked at now and then is looked at together: to wake a runtime for one
//! more look costs as much as a small request.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::Instant;

/// From one look to the next.
pub(crate) const BEAT: Duration = Duration::from_millis(50);

/// When the first beat was.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// When to look again at what is looked at every `period`: on a beat, unless that is
/// too seldom.
pub(crate) fn next_look(now: Instant, period: Duration) -> Instant {
    if period < BEAT {
        return now + period;
    }
    let first = *FIRST;
    let due = (now + period).saturating_duration_since(first) + BEAT / 2;
    let beats = (due.as_nanos() / BEAT.as_nanos()) as u64;
    first + Duration::from_nanos(beats.saturating_mul(BEAT.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn looks_of_different_tasks_fall_together() {
        let now = Instant::now() + BEAT * 3;
        let looks = [BEAT, BEAT * 5].map(|period| next_look(now + 7 * MS, period));
        assert_eq!(looks[1] - looks[0], BEAT * 4);
        for late in 0..20 {
            assert_eq!(next_look(looks[0] + late * MS, BEAT), looks[0] + BEAT, "{late} ms late");
        }
    }

    #[test]
    fn what_is_looked_at_more_often_than_that_keeps_its_period() {
        let now = Instant::now();
        assert_eq!(next_look(now, 10 * MS), now + 10 * MS);
    }
}
