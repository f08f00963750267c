//! Who is spared when a resource runs out: those who ask for little beside others.
//!
//! A signal says that there is too much, not whose it is. What must be refused of
//! a level is taken from the queues and callers that ask for most of it; whoever
//! asks for little, by queue or by caller, is let through as long as all of them
//! together take a small part of what is let through. This steers who is refused,
//! not how many: the others make up for it.

use std::time::Duration;

use crate::criticality::Criticality;
use crate::request::Request;
use crate::time::Time;

/// Queues, and callers, told apart; beyond, some share a place.
const PLACES: usize = 1024;
/// How often it is decided anew who asks for little.
const SLOT: Duration = Duration::from_millis(100);
/// Arrivals are remembered with this time constant: long, so that one a second is
/// told from two a second.
const MEMORY: Duration = Duration::from_secs(10);
/// What the spared queues, and as much the spared callers, may take: a part of
/// what is let through of their level.
const SPARED: f64 = 0.25;
/// Where all of level 3 would be refused, this part of its arrivals instead: who
/// asks for nearly nothing is none of the reasons.
const LEAST: f64 = 0.05;
/// What was asked for is sorted into bins, four for each power of two from this
/// on: the bits of a float after this many name its bin.
const SMALLEST: f64 = 1.0 / 16.0;
const BINS: usize = 128;
const BITS: u32 = 50;

/// Levels 3 and 4.
const LEVELS: [Criticality; 2] = [Criticality::Feature, Criticality::Internal];

#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    now: u32,
    lately: f64,
}

impl Arrivals {
    fn fold(&mut self, kept: f64) {
        self.lately = self.lately * kept + f64::from(self.now);
        self.now = 0;
    }

    fn all(&self) -> f64 {
        self.lately + f64::from(self.now)
    }
}

/// One level, by queue or by caller.
#[derive(Clone, Debug)]
struct Side {
    places: Box<[Arrivals; PLACES]>,
    /// Up to so many lately is little.
    little: f64,
}

impl Side {
    fn new() -> Self {
        Self { places: Box::new([Arrivals::default(); PLACES]), little: 0.0 }
    }

    /// Counts one; whether it is of those who ask for little.
    fn count(&mut self, index: u32) -> bool {
        let place = &mut self.places[index as usize % PLACES];
        place.now += 1;
        place.all() <= self.little
    }

    /// Those who ask for least have little, as long as they ask for no more than
    /// `budget` together.
    fn fold(&mut self, kept: f64, budget: f64) {
        let mut asked = [0.0; BINS];
        for place in self.places.iter_mut() {
            place.fold(kept);
            asked[bin(place.lately)] += place.lately;
        }
        let within = |sum: &mut f64, asked: &f64| {
            *sum += asked;
            (*sum <= budget).then_some(())
        };
        let bins = asked.iter().scan(0.0, within).count();
        self.little = lower_edge(bins);
    }
}

fn bin(lately: f64) -> usize {
    let above = (lately.to_bits() >> BITS).saturating_sub(SMALLEST.to_bits() >> BITS);
    (above as usize).min(BINS - 1)
}

fn lower_edge(bin: usize) -> f64 {
    f64::from_bits(((SMALLEST.to_bits() >> BITS) + bin as u64) << BITS)
}

#[derive(Clone, Debug)]
struct Level {
    queues: Side,
    callers: Side,
    all: Arrivals,
    spared: Arrivals,
}

impl Level {
    fn new() -> Self {
        let none = Arrivals::default();
        Self { queues: Side::new(), callers: Side::new(), all: none, spared: none }
    }

    fn fold(&mut self, kept: f64, refused: f64) {
        self.all.fold(kept);
        self.spared.fold(kept);
        let part = (SPARED * (1.0 - refused)).max(LEAST);
        let budget = part * self.all.lately;
        self.queues.fold(kept, budget);
        self.callers.fold(kept, budget);
    }

    /// What must be refused of the others, so that it is `refused` of all.
    fn of_others(&self, refused: f64) -> f64 {
        let spared = self.spared.all() / self.all.all().max(1.0);
        (refused / (1.0 - spared).max(1e-3)).min(1.0)
    }
}

/// Tells those who ask for little from the others, while a resource presses.
#[derive(Clone, Debug)]
pub(crate) struct Bystanders {
    levels: [Level; 2],
    folded_at: Time,
}

impl Bystanders {
    pub(crate) fn new(at: Time) -> Self {
        Self { levels: [Level::new(), Level::new()], folded_at: at }
    }

    /// Counts one that arrives. The part of such requests to refuse, where
    /// `refused` is the part of its level, and of levels 3 and 4.
    pub(crate) fn part(&mut self, at: Time, request: &Request, refused: [f64; 2]) -> f64 {
        if at - self.folded_at >= SLOT {
            self.fold(at, refused);
        }
        let Some(slot) = LEVELS.iter().position(|&level| level == request.level) else {
            return 0.0;
        };
        let level = &mut self.levels[slot];
        let (refused, is_last) = (refused[slot], request.level == Criticality::Internal);
        let by_queue = level.queues.count(request.queue.0);
        let by_caller = level.callers.count(request.caller.0);
        level.all.now += 1;
        // Level 3 pays for nobody in level 4.
        if (by_queue || by_caller) && !(is_last && refused >= 1.0) {
            level.spared.now += 1;
            return 0.0;
        }
        level.of_others(refused)
    }

    #[cold]
    fn fold(&mut self, at: Time, refused: [f64; 2]) {
        let kept = (-(at - self.folded_at).as_secs_f64() / MEMORY.as_secs_f64()).exp();
        self.folded_at = at;
        for (level, refused) in self.levels.iter_mut().zip(refused) {
            level.fold(kept, refused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criticality::Cohort;
    use crate::request::{CallerIndex, QueueIndex};
    use crate::settings::Enforcement;

    fn request(queue: u32, caller: u32, level: Criticality) -> Request {
        Request {
            queue: QueueIndex(queue),
            level,
            cohort: Cohort::default(),
            caller: CallerIndex(caller),
            deadline: None,
            bytes: 0,
            enforcement: Enforcement::Enforce,
        }
    }

    /// Parts refused of a flood over `queues` queues and of a victim beside it,
    /// after two seconds.
    fn beside(queues: u32, victim: Request, refused: [f64; 2]) -> (f64, f64) {
        let mut at = Time::from_millis(1000);
        let mut it = Bystanders::new(at);
        let (mut flood_refused, mut flooded, mut last) = (0.0, 0, 1.0);
        for step in 0..20_000u32 {
            at += Duration::from_micros(100);
            let part = it.part(at, &request(step % queues, 1, victim.level), refused);
            if step >= 10_000 {
                (flood_refused, flooded) = (flood_refused + part, flooded + 1);
            }
            if step % 10_000 == 9_999 {
                last = it.part(at, &victim, refused);
            }
        }
        (flood_refused / f64::from(flooded), last)
    }

    #[test]
    fn a_queue_with_little_traffic_is_spared_beside_a_flood_by_the_same_caller() {
        for queues in [1, 30, 900] {
            let victim = request(950, 1, Criticality::Feature);
            let (flood, last) = beside(queues, victim, [0.6, 1.0]);
            assert_eq!(last, 0.0, "{queues}");
            assert!((0.59..0.65).contains(&flood), "{queues} {flood}");
        }
    }

    #[test]
    fn a_caller_with_little_traffic_is_spared_in_a_queue_that_others_flood() {
        let (flood, last) = beside(3, request(1, 2, Criticality::Feature), [1.0, 1.0]);
        assert_eq!((flood, last), (1.0, 0.0));
    }

    #[test]
    fn where_all_of_level_4_goes_nobody_in_it_is_spared() {
        let victim = request(950, 2, Criticality::Internal);
        assert_eq!(beside(30, victim, [0.1, 1.0]).1, 1.0);
        assert_eq!(beside(30, victim, [0.0, 0.9]).1, 0.0);
    }

    #[test]
    fn bins_lie_between_their_edges() {
        for step in 1..4000 {
            let lately = SMALLEST * f64::from(step);
            assert!(lower_edge(bin(lately)) <= lately && lately < lower_edge(bin(lately) + 1));
        }
        assert_eq!((bin(0.0), bin(f64::INFINITY)), (0, BINS - 1));
    }

    #[test]
    fn a_flood_of_many_small_ones_is_no_bystander() {
        let mut at = Time::from_millis(1000);
        let mut it = Bystanders::new(at);
        let mut refused = 0.0;
        for step in 0..40_000u32 {
            at += Duration::from_micros(100);
            let small = request(step % 1000, step % 999, Criticality::Feature);
            let part = it.part(at, &small, [0.8, 1.0]);
            refused += if step >= 20_000 { part / 20_000.0 } else { 0.0 };
        }
        assert!((0.75..0.85).contains(&refused), "{refused}");
    }
}
