//! Which levels a callee is refusing, so that calls it would refuse are not made.
//!
//! The callee said it, with the time for which it holds. Seldom does it refuse all
//! of a level, though: to keep back every call would starve a level of which half
//! is carried. So calls are kept back at the rate that leaves a little more than
//! what was admitted of late (Google SRE book, chapter 21, "client-side
//! throttling", with a K of 1.5 instead of 2: it settles where a third of what is
//! sent is refused, enough to notice room, while a callee that refuses a little
//! before it is full loses nothing). Levels 1 and 2 are never kept back.

use std::collections::HashMap;
use std::time::Duration;

use plimsoll_shedding::Criticality;
use tokio::time::Instant;

use crate::headers::{Refused, RetryAdvice};

/// Callees that are remembered at most.
const MOST: usize = 1_024;
/// How much more is sent than was admitted.
const K: f64 = 1.5;
/// The greatest part that is kept back, for something must go to see whether the
/// callee has recovered.
const MOST_KEPT: f64 = 0.95;
/// Time in which what was seen counts for a third.
const MEMORY: Duration = Duration::from_secs(1);
/// How long a refusal without a time holds.
const UNSAID: Duration = Duration::from_millis(200);
/// A refusal holds no longer, whatever it says: while the callee refuses, it says
/// so again.
const LONGEST: Duration = Duration::from_secs(1);

/// What callees refuse.
#[derive(Debug, Default)]
pub(super) struct Held {
    callees: HashMap<u64, Hold>,
}

#[derive(Debug)]
struct Hold {
    /// The least critical level that is admitted.
    admitted: Criticality,
    until: Instant,
    /// By level.
    seen: [Seen; 4],
}

/// What was seen of a level of late.
#[derive(Clone, Copy, Debug)]
struct Seen {
    wanted: f64,
    admitted: f64,
    at: Instant,
}

/// What to do with a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Advice {
    Send,
    KeepBack { admitted: Criticality, retry_after: Duration },
}

impl Held {
    /// Whether a call of that level should be made; `chance` is evenly 0 to 1.
    pub(super) fn advise(
        &mut self,
        callee: u64,
        level: Criticality,
        now: Instant,
        chance: f64,
    ) -> Advice {
        let Some(hold) = self.callees.get_mut(&callee) else { return Advice::Send };
        if now >= hold.until {
            self.callees.remove(&callee);
            return Advice::Send;
        }
        let seen = &mut hold.seen[level.index()];
        let kept = seen.want(now);
        if level <= hold.admitted || level.is_critical() || chance >= kept {
            return Advice::Send;
        }
        Advice::KeepBack { admitted: hold.admitted, retry_after: hold.until - now }
    }

    /// A callee has refused.
    pub(super) fn refused(&mut self, callee: u64, refused: &Refused, now: Instant) {
        let Some(admitted) = refused.admitted.filter(|_| !refused.is_expired) else { return };
        let span = match refused.retry {
            RetryAdvice::After(span) => span.min(LONGEST),
            RetryAdvice::Unsaid => UNSAID,
            RetryAdvice::Never => LONGEST,
        };
        if !self.callees.contains_key(&callee) {
            self.make_room(now);
        }
        let nothing = Seen { wanted: 0.0, admitted: 0.0, at: now };
        let hold = self.callees.entry(callee);
        let hold = hold.or_insert(Hold { admitted, until: now, seen: [nothing; 4] });
        (hold.admitted, hold.until) = (admitted, now + span);
    }

    /// A callee has admitted a call of that level.
    pub(super) fn admitted(&mut self, callee: u64, level: Criticality, now: Instant) {
        if let Some(hold) = self.callees.get_mut(&callee) {
            let seen = &mut hold.seen[level.index()];
            seen.fade(now);
            seen.admitted += 1.0;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.callees.is_empty()
    }

    fn make_room(&mut self, now: Instant) {
        if self.callees.len() < MOST {
            return;
        }
        self.callees.retain(|_, hold| hold.until > now);
        if self.callees.len() == MOST {
            let first = self.callees.iter().min_by_key(|(_, hold)| hold.until).map(|(it, _)| *it);
            first.map(|it| self.callees.remove(&it));
        }
    }
}

impl Seen {
    /// A call is wanted: the part of such calls to keep back.
    fn want(&mut self, now: Instant) -> f64 {
        self.fade(now);
        self.wanted += 1.0;
        ((self.wanted - K * self.admitted) / (self.wanted + 1.0)).clamp(0.0, MOST_KEPT)
    }

    fn fade(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let left = (-passed / MEMORY.as_secs_f64()).exp();
        (self.wanted, self.admitted, self.at) = (self.wanted * left, self.admitted * left, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: u64 = 1;
    /// Keeps back whatever may be kept back at all.
    const SURE: f64 = 0.0;

    fn refusal(admitted: Criticality, millis: u64) -> Refused {
        let retry = RetryAdvice::After(Duration::from_millis(millis));
        Refused { is_expired: false, admitted: Some(admitted), retry }
    }

    fn holding(admitted: Criticality, millis: u64) -> (Held, Instant) {
        let (mut held, now) = (Held::default(), Instant::now());
        held.refused(CALLEE, &refusal(admitted, millis), now);
        (held, now)
    }

    #[test]
    fn what_lies_below_the_admitted_level_is_kept_back_for_that_time() {
        let (mut held, now) = holding(Criticality::Feature, 100);
        let advise = |held: &mut Held, after| {
            held.advise(CALLEE, Criticality::Internal, now + Duration::from_millis(after), SURE)
        };
        let (admitted, retry_after) = (Criticality::Feature, Duration::from_millis(60));
        assert_eq!(advise(&mut held, 40), Advice::KeepBack { admitted, retry_after });
        assert_eq!(held.advise(CALLEE, Criticality::Feature, now, SURE), Advice::Send);
        assert_eq!(held.advise(2, Criticality::Internal, now, SURE), Advice::Send);
        assert_eq!(advise(&mut held, 100), Advice::Send);
        assert!(held.is_empty());
    }

    #[test]
    fn critical_calls_are_never_kept_back() {
        let (mut held, now) = holding(Criticality::Infrastructure, 1_000);
        for level in [Criticality::Infrastructure, Criticality::CoreFlow] {
            assert!((0..100).all(|_| held.advise(CALLEE, level, now, SURE) == Advice::Send));
        }
    }

    #[test]
    fn a_twentieth_is_sent_where_nothing_is_admitted() {
        let (mut held, now) = holding(Criticality::CoreFlow, 1_000);
        let send = |chance: u32| {
            let chance = f64::from(chance % 100) / 100.0;
            held.advise(CALLEE, Criticality::Internal, now, chance) == Advice::Send
        };
        // The first few learn how much is refused.
        let sent = (0..10_000).map(send).skip(100).filter(|&it| it).count();
        assert_eq!(sent, 9_900 / 20);
    }

    #[test]
    fn half_as_much_more_is_sent_than_is_admitted() {
        let (mut held, mut now) = holding(Criticality::Feature, 1_000);
        let (mut wanted, mut sent, mut admitted) = (0_u32, 0_u32, 0_u32);
        for call in 0..20_000_u32 {
            // A thousand calls a second, of which the callee takes 300.
            now += Duration::from_millis(1);
            wanted += 1;
            let chance = f64::from(call.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
            if held.advise(CALLEE, Criticality::Internal, now, chance) == Advice::Send {
                sent += 1;
                if f64::from(admitted) < 0.3 * f64::from(wanted) {
                    admitted += 1;
                    held.admitted(CALLEE, Criticality::Internal, now);
                } else {
                    held.refused(CALLEE, &refusal(Criticality::Feature, 1_000), now);
                }
            }
        }
        let (sent, admitted) = (f64::from(sent), f64::from(admitted));
        assert!(admitted > 0.98 * 0.3 * 20_000.0, "only {admitted} of 6000 were admitted");
        assert!(sent < 1.55 * admitted, "{sent} sent for {admitted} admitted");
    }

    #[test]
    fn no_refusal_holds_longer_than_a_second() {
        let (mut held, now) = holding(Criticality::CoreFlow, 86_400_000);
        assert_eq!(held.advise(CALLEE, Criticality::Internal, now + LONGEST, SURE), Advice::Send);
    }

    #[test]
    fn a_refusal_that_names_no_level_or_is_an_expiry_holds_nothing() {
        let (mut held, now) = (Held::default(), Instant::now());
        held.refused(CALLEE, &Refused { admitted: None, ..refusal(Criticality::CoreFlow, 9) }, now);
        let expired = Refused { is_expired: true, ..refusal(Criticality::CoreFlow, 9) };
        held.refused(CALLEE, &expired, now);
        assert!(held.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_first_to_end_goes() {
        let (mut held, now) = (Held::default(), Instant::now());
        for callee in 0..10_000 {
            held.refused(callee, &refusal(Criticality::CoreFlow, callee / 10), now);
            assert!(held.callees.len() <= MOST);
        }
        assert!(held.callees.contains_key(&9_999) && !held.callees.contains_key(&0));
    }
}
