use proptest::prelude::*;

use super::super::holds::{Holds, Role, Ticket};
use super::super::journey::{Journey, Step, View};
use super::*;

const TICK_MS: u64 = 5;
const LASTS_MS: u64 = 6_000;
const WITHIN: Duration = Duration::from_secs(10);

#[test]
fn a_burst_goes_at_once_and_then_one_when_it_was_said() {
    for (live, every) in [(true, 1_000), (false, 200)] {
        let mut pace = Pace::new();
        (0..BURST).for_each(|_| assert_eq!(pace.take(Time::ZERO, live), Ok(())));
        let next = Time::from_millis(every);
        assert_eq!(pace.take(Time::ZERO, live), Err(next));
        assert_eq!(pace.take(next, live), Ok(()));
        assert!(pace.take(next, live).is_err());
    }
}

#[test]
fn lookups_that_are_of_use_let_twice_as_many_go_until_they_end() {
    let (mut pace, mut rounds) = (Pace::new(), Vec::new());
    for round in 0..5 {
        let now = Time::from_millis(round);
        let went = std::iter::repeat_with(|| pace.take(now, true)).take_while(Result::is_ok);
        rounds.push(went.count());
        (0..rounds[rounds.len() - 1]).for_each(|_| pace.was_of_use(now));
    }
    assert_eq!(rounds, [5, 10, 20, 40, 64]);
    let later = Time::from_millis(1_005);
    let went = std::iter::repeat_with(|| pace.take(later, true)).take_while(Result::is_ok);
    assert_eq!(went.count(), 5, "what was earned has lapsed");
}

// === a crowd that nobody can help ===

/// One request: when it comes and for which shard.
type Arrival = (u64, u8);

/// Many requests for shards that nobody owns, in virtual time.
struct Outage {
    pace: Pace,
    holds: Holds,
    held: Vec<Held>,
    asked: Vec<u64>,
    dice: u64,
}

struct Held {
    shard: std::sync::Arc<str>,
    ticket: Ticket,
    role: Role,
    journey: Journey,
    wakes: Time,
}

impl Outage {
    fn new(seed: u64) -> Self {
        let (pace, holds) = (Pace::new(), Holds::new(10_000));
        Self { pace, holds, held: Vec::new(), asked: Vec::new(), dice: seed | 1 }
    }

    fn run(mut self, arrivals: &[Arrival], leave: &[u64], live: impl Fn(u64) -> bool) -> Vec<u64> {
        for now in (0..LASTS_MS).step_by(TICK_MS as usize) {
            arrivals.iter().filter(|it| it.0 / TICK_MS == now / TICK_MS).for_each(|it| {
                self.arrive(now, it.1);
            });
            leave.iter().filter(|at| **at / TICK_MS == now / TICK_MS).for_each(|_| {
                self.one_leaves(now);
            });
            self.wake(now, live(now));
        }
        self.asked
    }

    fn arrive(&mut self, millis: u64, shard: u8) {
        let (now, shard) = (Time::from_millis(millis), shard.to_string().into());
        let (ticket, role) = self.holds.hold(&shard).unwrap();
        let journey = Journey::new(now, WITHIN);
        self.held.push(Held { shard, ticket, role, journey, wakes: now });
    }

    /// Its caller gave up; another one is the scout, if it was.
    fn one_leaves(&mut self, millis: u64) {
        if self.held.is_empty() {
            return;
        }
        let gone = self.held.remove(0);
        let next = self.holds.leave(&gone.shard, gone.ticket);
        let chance = self.chance();
        if let Some(next) = self.held.iter_mut().find(|it| Some(it.ticket) == next) {
            next.role = Role::Scout;
            next.journey.made_scout(Time::from_millis(millis), chance);
            next.wakes = Time::from_millis(millis);
        }
    }

    fn wake(&mut self, millis: u64, live: bool) {
        let now = Time::from_millis(millis);
        for position in 0..self.held.len() {
            let chance = self.chance();
            let held = &mut self.held[position];
            while held.wakes <= now {
                let view = View { now, grant: None, role: Some(held.role), crowd: true };
                match held.journey.next(view) {
                    Step::Wait(until) => held.wakes = until,
                    Step::Ask => match self.pace.take(now, live) {
                        Ok(()) => {
                            self.asked.push(millis);
                            held.journey.asked(now, false, chance);
                        }
                        Err(until) => held.journey.put_off(until, false, chance),
                    },
                    other => panic!("{other:?} of a shard that nobody owns"),
                }
            }
        }
    }

    /// Xorshift: the same every time.
    fn chance(&mut self) -> f64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice % 1_000) as f64 / 1_000.0
    }
}

fn in_any_second(asked: &[u64]) -> usize {
    let within = |from: &u64| asked.iter().filter(|at| (*from..from + 1_000).contains(at)).count();
    asked.iter().map(within).max().unwrap_or(0)
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    proptest::collection::vec((0..LASTS_MS / 2, 0..60_u8), 100..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn however_many_shards_and_requests_wait_the_lookups_are_bounded_and_do_not_cease(
        arrivals in arrivals(),
        leave in proptest::collection::vec(0..LASTS_MS, 0..40),
        seed in any::<u64>(),
        turns in proptest::collection::vec(0..LASTS_MS, 0..6),
    ) {
        let seconds = LASTS_MS / 1_000;
        let live = Outage::new(seed).run(&arrivals, &leave, |_| true);
        prop_assert!(live.len() as u64 <= BURST + LIVE_RATE * seconds, "{}", live.len());
        prop_assert!(live.len() as u64 >= BURST + 2, "the safety lookups: {live:?}");
        let away = Outage::new(seed).run(&arrivals, &leave, |_| false);
        prop_assert!(away.len() as u64 <= BURST + AWAY_RATE * seconds, "{}", away.len());
        prop_assert!(away.len() as u64 >= AWAY_RATE * seconds / 2, "{away:?}");
        let changing = |now| turns.iter().filter(|turn| **turn <= now).count() % 2 == 0;
        let both = Outage::new(seed).run(&arrivals, &leave, changing);
        for asked in [live, away, both] {
            prop_assert!(in_any_second(&asked) as u64 <= BURST + AWAY_RATE, "{asked:?}");
        }
    }
}
