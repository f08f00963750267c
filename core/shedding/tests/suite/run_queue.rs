//! A service that burns CPU on one thread: requests queue for the runtime, and the
//! shedder sees each only when its turn has come. A timer of 10 ms tells the lag.

use plimsoll_shedding::criticality::{Cohort, Criticality};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::signal::{Signal, SignalKind};
use plimsoll_shedding::verdict::{Arrival, Outcome};
use plimsoll_shedding::{Shedder, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const HANDLER: f64 = 0.001;
const REFUSAL: f64 = HANDLER / 30.0;
const PROBE: f64 = 0.010;
const TARGET: f64 = 0.020;
const SECONDS: f64 = 20.0;
const COUNT_FROM: f64 = 3.0;

#[derive(Debug, Default)]
struct Seen {
    critical: u64,
    critical_ok: u64,
    answered_ms: Vec<f64>,
    refused: u64,
}

struct Turns {
    random: Pcg64,
    shedder: Shedder,
    now: f64,
    seen: Seen,
}

fn at(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9) as u64)
}

/// Turns in order: whoever came first, request or probe.
fn run(total: f64, critical: f64, seed: u64) -> Seen {
    let mut shedder = Shedder::new(ServiceSettings::default(), seed);
    shedder.add_queue(QueueSettings::default());
    let random = Pcg64::seed_from_u64(seed);
    let mut turns = Turns { random, shedder, now: 0.0, seen: Seen::default() };
    let (mut arrival, mut probe) = (0.0, PROBE);
    while arrival < SECONDS {
        if probe <= arrival {
            probe = turns.probe(probe);
        } else {
            turns.request(arrival, critical / total);
            arrival -= (1.0 - turns.random.random::<f64>()).ln() * HANDLER / total;
        }
    }
    turns.seen
}

impl Turns {
    fn probe(&mut self, due: f64) -> f64 {
        self.now = self.now.max(due);
        let pressure = (self.now - due) / TARGET;
        self.shedder.signal(at(self.now), Signal { kind: SignalKind::Lag, pressure });
        self.now + PROBE
    }

    fn request(&mut self, arrived: f64, critical: f64) {
        let level = if self.random.random_bool(critical) {
            Criticality::CoreFlow
        } else {
            Criticality::Internal
        };
        self.arrives(arrived, level, QueueIndex(0), CallerIndex(1));
    }

    fn arrives(
        &mut self,
        arrived: f64,
        level: Criticality,
        queue: QueueIndex,
        caller: CallerIndex,
    ) {
        self.now = self.now.max(arrived);
        let request = Request {
            queue,
            level,
            cohort: Cohort::from_hash(self.random.random()),
            caller,
            deadline: None,
            bytes: 0,
            enforcement: Enforcement::Enforce,
        };
        let answered = match self.shedder.arrive(at(self.now), &request) {
            Arrival::Admitted(permit) => {
                self.now += HANDLER;
                self.shedder.complete(at(self.now), permit, Outcome::Answered);
                true
            }
            Arrival::Queued(_) => unreachable!("one handler runs at a time"),
            Arrival::Refused(_) => {
                self.now += REFUSAL;
                false
            }
        };
        if arrived >= COUNT_FROM {
            self.count(level, self.now - arrived, answered);
        }
    }

    fn count(&mut self, level: Criticality, took: f64, answered: bool) {
        let ok = answered && took <= 0.4;
        self.seen.critical += u64::from(level.is_critical());
        self.seen.critical_ok += u64::from(level.is_critical() && ok);
        self.seen.refused += u64::from(!answered);
        if answered {
            self.seen.answered_ms.push(took * 1e3);
        }
    }
}

#[test]
fn a_late_runtime_is_relieved_without_touching_what_is_critical() {
    println!("total goodput/C critical p99");
    for (total, least) in [(1.25, 0.95), (1.33, 0.95), (2.0, 0.92), (3.0, 0.88)] {
        for seed in 0..3 {
            let mut seen = run(total, 0.667, seed);
            seen.answered_ms.sort_by(f64::total_cmp);
            let in_time = seen.answered_ms.partition_point(|&took| took <= 400.0);
            let goodput = in_time as f64 * HANDLER / (SECONDS - COUNT_FROM);
            let p99 = seen.answered_ms[seen.answered_ms.len() * 99 / 100];
            println!(
                "cpu {total} {goodput:.3} {:.4} {p99:.0}",
                seen.critical_ok as f64 / seen.critical as f64
            );
            assert_eq!(seen.critical_ok, seen.critical);
            assert!(goodput >= least && p99 <= 150.0, "{total}: {goodput} {p99}");
        }
    }
}

/// A flood of level 3 at so many times the capacity over so many queues, and one a
/// second in a queue of its own: what became of the latter, and the goodput.
fn beside_flood(queues: u32, total: f64, victim_caller: u32, seed: u64) -> (Seen, f64) {
    let mut shedder = Shedder::new(ServiceSettings::default(), seed);
    for _ in 0..=queues {
        shedder.add_queue(QueueSettings::default());
    }
    let random = Pcg64::seed_from_u64(seed);
    let mut turns = Turns { random, shedder, now: 0.0, seen: Seen::default() };
    let (mut arrival, mut probe, mut victim) = (0.0, PROBE, 0.5);
    let (mut beside, mut seen) = (Seen::default(), Seen::default());
    while arrival < SECONDS {
        let next = f64::min(arrival, victim);
        let (kept, queue, caller) = if victim <= arrival {
            (&mut beside, queues, victim_caller)
        } else {
            (&mut seen, 0, 1)
        };
        if probe <= next {
            probe = turns.probe(probe);
            continue;
        }
        let queue = if victim <= arrival { queue } else { turns.random.random_range(0..queues) };
        std::mem::swap(&mut turns.seen, kept);
        turns.arrives(next, Criticality::Feature, QueueIndex(queue), CallerIndex(caller));
        std::mem::swap(&mut turns.seen, kept);
        if victim <= arrival {
            victim += 1.0;
        } else {
            arrival -= (1.0 - turns.random.random::<f64>()).ln() * HANDLER / total;
        }
    }
    let goodput = seen.answered_ms.len() as f64 * HANDLER / (SECONDS - COUNT_FROM);
    (beside, goodput)
}

#[test]
fn one_a_second_is_served_beside_a_flood_of_a_late_runtime() {
    for queues in [1, 900] {
        for (total, victim_caller) in [(2.0, 2), (2.0, 1), (6.0, 1)] {
            let (victim, goodput) = beside_flood(queues, total, victim_caller, 1);
            println!(
                "beside {queues} queues at {total}, caller {victim_caller}: {} of {} refused, \
                 goodput of the others {goodput:.3}",
                victim.refused,
                victim.refused + victim.answered_ms.len() as u64,
            );
            assert_eq!(victim.refused, 0, "{queues} {total} {victim_caller}");
            assert!(victim.answered_ms.len() >= 15);
            let refusals = (total - 1.0) * REFUSAL / HANDLER;
            assert!(goodput >= 0.94 - refusals, "{queues} {total} {goodput}");
        }
    }
}

#[test]
fn a_runtime_in_time_refuses_nobody() {
    for seed in 0..3 {
        assert_eq!(run(0.8, 0.4, seed).refused, 0);
    }
}
