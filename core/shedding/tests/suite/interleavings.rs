//! Random calls in random order, over thousands of seeds: nobody is lost, nobody
//! is answered twice, and no bound is passed.

use std::time::Duration;

use plimsoll_shedding::criticality::{Cohort, Criticality};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::signal::{Signal, SignalKind};
use plimsoll_shedding::verdict::{Arrival, Outcome, Permit, Reason, Refusal, Ticket, Verdict};
use plimsoll_shedding::{Shedder, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const BYTES: u32 = 1000;
const MAX_QUEUE: u32 = 20;
const MAX_BYTES: u64 = 18_500;

struct Player {
    random: Pcg64,
    shedder: Shedder,
    queues: Vec<QueueIndex>,
    limit: u32,
    now: Time,
    running: Vec<Permit>,
    waiting: Vec<(Ticket, Criticality)>,
    shut_down: bool,
}

fn player(seed: u64) -> Player {
    let mut random = Pcg64::seed_from_u64(seed);
    let limit = random.random_range(1..12);
    let service = ServiceSettings {
        concurrency: if random.random() {
            Auto::Auto
        } else {
            Auto::Fixed(random.random_range(1..12))
        },
        cores: 1,
    };
    let settings = QueueSettings {
        concurrency: if random.random() { Auto::Fixed(limit) } else { Auto::Auto },
        max_concurrency: limit,
        max_queue: MAX_QUEUE,
        max_queue_bytes: MAX_BYTES,
        caller_cap: random.random_bool(0.2).then(|| random.random_range(1..10)),
        never_drop_critical: random.random_bool(0.2),
        ..QueueSettings::default()
    };
    let mut shedder = Shedder::new(service, seed);
    let queues = (0..random.random_range(1..4)).map(|_| shedder.add_queue(settings)).collect();
    Player {
        random,
        shedder,
        queues,
        limit,
        now: Time::ZERO,
        running: Vec::new(),
        waiting: Vec::new(),
        shut_down: false,
    }
}

impl Player {
    fn step(&mut self, dry: bool) {
        let micros = self.random.random_range(0..3000);
        self.now +=
            Duration::from_micros(if self.random.random_bool(0.01) { 200_000 } else { micros });
        match self.random.random_range(0..100) {
            0..45 => self.arrive(dry),
            45..75 => self.complete(),
            75..82 => self.cancel(),
            82..85 => self.signal(),
            _ => self.shedder.handle_timeout(self.now),
        }
        self.poll();
        self.check();
    }

    fn request(&mut self, level: Criticality, queue: QueueIndex, dry: bool) -> Request {
        let in_time = Duration::from_millis(self.random.random_range(1..400));
        let enforcement = match self.random.random_range(0..20) {
            0 => Enforcement::Off,
            1..10 if dry => Enforcement::DryRun,
            _ => Enforcement::Enforce,
        };
        Request {
            queue,
            level,
            cohort: Cohort::from_hash(self.random.random()),
            caller: CallerIndex(self.random.random_range(0..100)),
            deadline: self.random.random_bool(0.3).then(|| self.now + in_time),
            bytes: BYTES,
            enforcement,
        }
    }

    fn arrive(&mut self, dry: bool) {
        let level = Criticality::ALL[self.random.random_range(0..4)];
        let queue = self.queues[self.random.random_range(0..self.queues.len())];
        let request = self.request(level, queue, dry);
        let _ = self.offer(&request);
    }

    /// Whether it was let in.
    fn offer(&mut self, request: &Request) -> Result<(), Reason> {
        match self.shedder.arrive(self.now, request) {
            Arrival::Admitted(permit) => self.running.push(permit),
            Arrival::Queued(ticket) => {
                assert!(!self.shut_down);
                assert!(self.waiting.iter().all(|it| it.0 != ticket), "a ticket twice");
                self.waiting.push((ticket, request.level));
            }
            Arrival::Refused(refusal) => {
                check_refusal(request.level, refusal);
                return Err(refusal.reason);
            }
        }
        Ok(())
    }

    fn complete(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let permit = self.running.swap_remove(self.random.random_range(0..self.running.len()));
        let outcome = [Outcome::Answered, Outcome::Streaming, Outcome::Abandoned]
            [self.random.random_range(0..3)];
        self.shedder.complete(self.now, permit, outcome);
    }

    fn cancel(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let position = self.random.random_range(0..self.waiting.len());
        let (ticket, _) = self.waiting.swap_remove(position);
        let before = self.all_waiting();
        self.shedder.cancel(self.now, ticket);
        assert!(self.all_waiting() < before, "its position is free at once");
        self.shedder.cancel(self.now, ticket);
    }

    fn signal(&mut self) {
        let pressure = self.random.random_range(0.0..2.5);
        self.shedder.signal(self.now, Signal { kind: SignalKind::Cpu, pressure });
    }

    fn poll(&mut self) {
        while let Some((ticket, verdict)) = self.shedder.poll_verdict() {
            let position = self.waiting.iter().position(|it| it.0 == ticket);
            let (_, level) = self.waiting.swap_remove(position.expect("one verdict for each"));
            match verdict {
                Verdict::Admitted(permit) => self.running.push(permit),
                Verdict::Refused(refusal) => check_refusal(level, refusal),
            }
        }
    }

    fn all_waiting(&self) -> u32 {
        let views = self.queues.iter().map(|&queue| self.shedder.view(self.now, queue).unwrap());
        views.map(|view| view.waiting.iter().sum::<u32>()).sum()
    }

    fn check(&self) {
        for &queue in &self.queues {
            let view = self.shedder.view(self.now, queue).unwrap();
            assert!(view.limit >= 1 && view.limit <= self.limit.max(1));
            assert!(view.inflight <= self.limit.max(1), "{} > {}", view.inflight, self.limit);
            assert!(view.waiting.iter().sum::<u32>() <= MAX_QUEUE);
            assert!(view.waiting_bytes <= MAX_BYTES);
        }
        if self.all_waiting() > 0 {
            assert!(self.shedder.poll_timeout().is_some(), "those who wait have a timer");
        }
    }

    /// Ends everything that runs; whoever waits is served in turn.
    fn drain(&mut self) {
        while let Some(permit) = self.running.pop() {
            self.now += Duration::from_micros(200);
            self.shedder.complete(self.now, permit, Outcome::Answered);
            self.poll();
        }
        assert!(self.waiting.is_empty(), "nobody waits for nothing");
        assert_eq!(self.all_waiting(), 0);
        for &queue in &self.queues {
            assert_eq!(self.shedder.view(self.now, queue).unwrap().inflight, 0);
        }
    }
}

fn check_refusal(level: Criticality, refusal: Refusal) {
    let unavoidable =
        [Reason::Expired, Reason::QueueFull, Reason::CriticalSaturated, Reason::ShuttingDown];
    assert!(!level.is_critical() || unavoidable.contains(&refusal.reason), "{level} {refusal:?}");
    let is_sheddable = |reason| matches!(reason, Reason::Overload | Reason::Resource(_));
    let level_told = refusal.admitted_level;
    assert!(!is_sheddable(refusal.reason) || level_told < level, "{level} {refusal:?}");
    assert!(refusal.retry_after < Duration::from_secs(3600));
}

#[test]
fn no_request_is_lost_or_answered_twice() {
    for seed in 0..1000 {
        let mut player = player(seed);
        (0..150).for_each(|_| player.step(false));
        let tickets = player.waiting.len() as u32;
        assert_eq!(player.all_waiting(), tickets, "seed {seed}");
        player.drain();
    }
}

#[test]
fn a_dry_run_leaves_no_place_taken_and_nobody_waiting() {
    for seed in 0..1000 {
        let mut player = player(seed);
        (0..150).for_each(|_| player.step(true));
        player.drain();
    }
}

#[test]
fn after_shutdown_nobody_is_admitted_and_nobody_waits() {
    for seed in 0..300 {
        let mut player = player(seed);
        (0..100).for_each(|_| player.step(false));
        player.shedder.shut_down(player.now);
        player.shut_down = true;
        player.poll();
        assert!(player.waiting.is_empty());
        let request = Request {
            enforcement: Enforcement::Enforce,
            deadline: None,
            ..player.request(Criticality::Infrastructure, QueueIndex(0), false)
        };
        assert_eq!(player.offer(&request), Err(Reason::ShuttingDown));
        player.drain();
    }
}

#[test]
fn nobody_is_admitted_while_a_more_critical_request_is_refused_in_the_same_instant() {
    for seed in 0..1000 {
        let mut player = player(seed);
        for _ in 0..120 {
            player.step(false);
            let queue = player.queues[0];
            let mut refused_above = None;
            let asked = Criticality::ALL.map(|level| Request {
                deadline: None,
                caller: CallerIndex(player.random.random_range(0..100)),
                enforcement: Enforcement::Enforce,
                ..player.request(level, queue, false)
            });
            let answers: Vec<_> =
                asked.iter().rev().map(|it| (it.level, player.offer(it))).collect();
            for (level, answer) in answers.into_iter().rev() {
                match answer {
                    Err(Reason::CallerShare) => {}
                    Err(reason) => refused_above = Some((level, reason)),
                    Ok(()) => assert_eq!(refused_above, None, "seed {seed}: {level} was let in"),
                }
            }
            player.poll();
        }
    }
}
