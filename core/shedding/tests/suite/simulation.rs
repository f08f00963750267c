//! A service in virtual time: arrivals by rate, a pool of places behind the
//! handlers, and the real [`Shedder`] in front.
//!
//! A second takes some milliseconds, so that a figure can be had over many seeds.
//! The pool is not known to the shedder: it has so many places, in order of
//! arrival, and whoever is admitted beyond them waits inside his handler.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use plimsoll_shedding::criticality::{Cohort, Criticality};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::state::QueueView;
use plimsoll_shedding::verdict::{Arrival, Outcome, Permit, Reason, Refusal, Verdict};
use plimsoll_shedding::{Shedder, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// How long handlers take, given a mean.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Exponential,
    Constant,
    /// Nine in ten take a third, one takes seven times the mean.
    Bimodal,
}

/// A stream of requests.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) queue: u32,
    pub(crate) level: u8,
    pub(crate) caller: u32,
    /// From a second on, so many a second.
    pub(crate) rates: Vec<(f64, f64)>,
    pub(crate) enforcement: Enforcement,
    pub(crate) deadline: Option<Duration>,
    /// Its client goes away after so long.
    pub(crate) hangs_up: Option<Duration>,
    /// Whether requests say their cohort.
    pub(crate) with_cohorts: bool,
}

impl Source {
    pub(crate) fn new(level: u8, rate: f64) -> Self {
        Self {
            queue: 0,
            level,
            caller: u32::from(level),
            rates: vec![(0.0, rate)],
            enforcement: Enforcement::Enforce,
            deadline: None,
            hangs_up: None,
            with_cohorts: true,
        }
    }

    fn rate(&self, seconds: f64) -> f64 {
        let passed = self.rates.partition_point(|&(from, _)| from <= seconds);
        if passed == 0 { 0.0 } else { self.rates[passed - 1].1 }
    }

    fn next_change(&self, seconds: f64) -> f64 {
        let passed = self.rates.partition_point(|&(from, _)| from <= seconds);
        self.rates.get(passed).map_or(f64::INFINITY, |&(from, _)| from)
    }
}

/// What is simulated.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) seconds: f64,
    pub(crate) service: ServiceSettings,
    pub(crate) queues: Vec<QueueSettings>,
    pub(crate) sources: Vec<Source>,
    pub(crate) places: usize,
    pub(crate) handling: Duration,
    pub(crate) distribution: Service,
    /// Handlers that start from a second on take so many times as long.
    pub(crate) slowness: Vec<(f64, f64)>,
    /// The process stands still from, for so many seconds.
    pub(crate) stalls: Vec<(f64, f64)>,
    /// An answer later than this is none.
    pub(crate) patience: Duration,
    /// What happened before is not counted.
    pub(crate) count_from: f64,
}

impl Scene {
    /// 16 places of 10 ms: 1,600 a second.
    pub(crate) fn new(queues: Vec<QueueSettings>) -> Self {
        Self {
            seconds: 10.0,
            service: ServiceSettings::default(),
            queues,
            sources: Vec::new(),
            places: 16,
            handling: Duration::from_millis(10),
            distribution: Service::Exponential,
            slowness: Vec::new(),
            stalls: Vec::new(),
            patience: Duration::from_millis(400),
            count_from: 2.0,
        }
    }

    /// Requests whose end the run still sees.
    fn counts(&self, arrived: f64) -> bool {
        arrived >= self.count_from && arrived < self.seconds - 1.0
    }

    pub(crate) fn capacity(&self) -> f64 {
        self.places as f64 / self.handling.as_secs_f64()
    }
}

/// What became of the requests of one source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    pub(crate) ok: u64,
    pub(crate) late: u64,
    pub(crate) refused: u64,
    pub(crate) expired: u64,
    pub(crate) hung_up: u64,
    pub(crate) would_refuse: u64,
    /// Milliseconds from arrival to answer.
    pub(crate) answered_ms: Vec<f32>,
    pub(crate) refused_ms: Vec<f32>,
}

/// What a run showed.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) tallies: Vec<Tally>,
    /// By second: offered, refused.
    pub(crate) seconds: Vec<(u64, u64)>,
    /// By 10 ms: answers.
    pub(crate) answers: Vec<u64>,
    /// When, which source, why.
    pub(crate) refusals: Vec<(f64, usize, Reason)>,
    pub(crate) admissions: Vec<(f64, usize)>,
    pub(crate) limits: Vec<u32>,
    pub(crate) last_view: QueueView,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Arrives(usize),
    Ends(u64),
    HangsUp(u64),
    Timer,
    Probe,
}

/// How often the shell looks at its event loop while it is on time.
const PROBE: Duration = Duration::from_millis(50);

struct Running {
    source: usize,
    arrived: Time,
    permit: Option<Permit>,
    ticket: Option<plimsoll_shedding::verdict::Ticket>,
    counted: bool,
    done: bool,
}

/// One run.
pub(crate) struct Simulation<'a> {
    scene: &'a Scene,
    shedder: Shedder,
    random: Pcg64,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    requests: HashMap<u64, Running>,
    by_slot: HashMap<u32, u64>,
    next_request: u64,
    pool_busy: usize,
    pool_queue: VecDeque<u64>,
    timer_at: Option<Time>,
    record: Record,
    sampled_at: Time,
}

pub(crate) fn run(scene: &Scene, seed: u64) -> Record {
    let mut shedder = Shedder::new(scene.service, seed);
    for &settings in &scene.queues {
        shedder.add_queue(settings);
    }
    let mut simulation = Simulation {
        scene,
        shedder,
        random: Pcg64::seed_from_u64(seed),
        events: BinaryHeap::new(),
        order: 0,
        requests: HashMap::new(),
        by_slot: HashMap::new(),
        next_request: 0,
        pool_busy: 0,
        pool_queue: VecDeque::new(),
        timer_at: None,
        record: Record {
            tallies: vec![Tally::default(); scene.sources.len()],
            ..Record::default()
        },
        sampled_at: Time::ZERO,
    };
    simulation.run();
    simulation.record
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

fn time(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9) as u64)
}

impl Simulation<'_> {
    fn run(&mut self) {
        for source in 0..self.scene.sources.len() {
            self.schedule_arrival(source, 0.0);
        }
        self.schedule(Time::ZERO, Event::Probe);
        let end = time(self.scene.seconds);
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                break;
            }
            let awake = self.awake_at(at);
            if awake > at {
                self.schedule(awake, event);
                continue;
            }
            self.handle(at, event);
            self.sample(at);
        }
        self.record.last_view = self.shedder.view(end, QueueIndex(0)).unwrap();
    }

    /// When the process runs again, if it stands still.
    fn awake_at(&self, at: Time) -> Time {
        let now = seconds(at);
        let stall =
            self.scene.stalls.iter().find(|&&(from, span)| from <= now && now < from + span);
        stall.map_or(at, |&(from, span)| time(from + span) + Duration::from_nanos(1))
    }

    fn handle(&mut self, at: Time, event: Event) {
        match event {
            Event::Arrives(source) => self.arrives(at, source),
            Event::Ends(request) => self.ends(at, request),
            Event::HangsUp(request) => self.hangs_up(at, request),
            Event::Probe => {
                self.shedder.expect_call(at, PROBE);
                self.schedule(at + PROBE, Event::Probe);
            }
            Event::Timer => {
                self.timer_at = None;
                if self.shedder.poll_timeout().is_some_and(|due| due <= at) {
                    self.shedder.handle_timeout(at);
                }
            }
        }
        self.poll(at);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// Poisson arrivals whose rate changes in steps.
    fn schedule_arrival(&mut self, source: usize, from: f64) {
        let stream = &self.scene.sources[source];
        let mut now = from;
        while now < self.scene.seconds {
            let (rate, change) = (stream.rate(now), stream.next_change(now));
            let gap = -(1.0 - self.random.random::<f64>()).ln() / rate.max(1e-12);
            if now + gap <= change {
                self.schedule(time(now + gap), Event::Arrives(source));
                return;
            }
            now = change;
        }
    }

    fn arrives(&mut self, at: Time, index: usize) {
        let source = self.scene.sources[index].clone();
        let cohort = if source.with_cohorts {
            Cohort::from_hash(self.random.random())
        } else {
            Cohort::default()
        };
        let request = Request {
            queue: QueueIndex(source.queue),
            level: Criticality::from_level(source.level).unwrap(),
            cohort,
            caller: CallerIndex(source.caller),
            deadline: source.deadline.map(|span| at + span),
            bytes: 1000,
            enforcement: source.enforcement,
        };
        let counted = self.scene.counts(seconds(at));
        let id = self.next_request;
        self.next_request += 1;
        let mut running = Running {
            source: index,
            arrived: at,
            permit: None,
            ticket: None,
            counted,
            done: false,
        };
        self.count_offered(at, index, counted);
        match self.shedder.arrive(at, &request) {
            Arrival::Admitted(permit) => {
                running.permit = Some(permit);
                self.requests.insert(id, running);
                self.begins(at, id);
            }
            Arrival::Queued(ticket) => {
                running.ticket = Some(ticket);
                self.by_slot.insert(ticket.slot, id);
                self.requests.insert(id, running);
            }
            Arrival::Refused(refusal) => self.refused(at, &running, refusal),
        }
        if let Some(span) = source.hangs_up {
            self.schedule(at + span, Event::HangsUp(id));
        }
        self.schedule_arrival(index, seconds(at));
    }

    fn poll(&mut self, at: Time) {
        while let Some((ticket, verdict)) = self.shedder.poll_verdict() {
            let id = self.by_slot.remove(&ticket.slot).expect("a verdict for one that waits");
            match verdict {
                Verdict::Admitted(mut permit) => {
                    self.shedder.started(at, &mut permit);
                    let running = self.requests.get_mut(&id).unwrap();
                    assert!(running.permit.is_none(), "answered twice");
                    running.permit = Some(permit);
                    self.begins(at, id);
                }
                Verdict::Refused(refusal) => {
                    let running = self.requests.remove(&id).unwrap();
                    self.refused(at, &running, refusal);
                }
            }
        }
        let due = self.shedder.poll_timeout();
        if let Some(due) = due
            && self.timer_at.is_none_or(|timer| due < timer)
        {
            self.timer_at = Some(due);
            self.schedule(due.max(at), Event::Timer);
        }
    }

    fn begins(&mut self, at: Time, id: u64) {
        let running = &self.requests[&id];
        let source = running.source;
        if running.counted {
            self.record.admissions.push((seconds(at), source));
            let would = running.permit.as_ref().and_then(Permit::would_refuse).is_some();
            self.record.tallies[source].would_refuse += u64::from(would);
        }
        if self.pool_busy < self.scene.places {
            self.pool_busy += 1;
            self.serves(at, id);
        } else {
            self.pool_queue.push_back(id);
        }
    }

    fn serves(&mut self, at: Time, id: u64) {
        let slow = &self.scene.slowness;
        let passed = slow.partition_point(|&(from, _)| from <= seconds(at));
        let factor = if passed == 0 { 1.0 } else { slow[passed - 1].1 };
        let draw: f64 = self.random.random();
        let unit = match self.scene.distribution {
            Service::Exponential => -(1.0 - draw).ln(),
            Service::Constant => 1.0,
            Service::Bimodal => {
                if draw < 0.9 {
                    1.0 / 3.0
                } else {
                    7.0
                }
            }
        };
        let takes = self.scene.handling.mul_f64(unit * factor);
        self.schedule(at + takes, Event::Ends(id));
    }

    fn ends(&mut self, at: Time, id: u64) {
        let running = self.requests.remove(&id).expect("a handler that runs");
        match self.pool_queue.pop_front() {
            Some(next) => self.serves(at, next),
            None => self.pool_busy -= 1,
        }
        let permit = running.permit.expect("it was admitted");
        self.shedder.complete(at, permit, Outcome::Answered);
        if running.done {
            return;
        }
        let took = at - running.arrived;
        self.count_answer(at);
        if running.counted {
            let tally = &mut self.record.tallies[running.source];
            if took <= self.scene.patience {
                tally.ok += 1
            } else {
                tally.late += 1
            }
            tally.answered_ms.push(took.as_secs_f32() * 1e3);
        }
    }

    fn hangs_up(&mut self, at: Time, id: u64) {
        let Some(running) = self.requests.get_mut(&id) else { return };
        if running.done {
            return;
        }
        running.done = true;
        if running.counted {
            self.record.tallies[running.source].hung_up += 1;
        }
        if running.permit.is_none() {
            let ticket = running.ticket.expect("it waits");
            self.requests.remove(&id);
            self.by_slot.remove(&ticket.slot);
            self.shedder.cancel(at, ticket);
        }
    }

    fn refused(&mut self, at: Time, running: &Running, refusal: Refusal) {
        if !running.counted {
            return;
        }
        self.record.refusals.push((seconds(at), running.source, refusal.reason));
        let tally = &mut self.record.tallies[running.source];
        if refusal.reason == Reason::Expired {
            tally.expired += 1;
        } else {
            tally.refused += 1;
            tally.refused_ms.push((at - running.arrived).as_secs_f32() * 1e3);
            let second = seconds(running.arrived) as usize;
            self.record.seconds[second].1 += 1;
        }
    }

    fn count_offered(&mut self, at: Time, source: usize, counted: bool) {
        let second = seconds(at) as usize;
        if self.record.seconds.len() <= second {
            self.record.seconds.resize(second + 1, (0, 0));
        }
        if counted {
            self.record.seconds[second].0 += 1;
            self.record.tallies[source].offered += 1;
        }
    }

    fn count_answer(&mut self, at: Time) {
        let bin = (seconds(at) * 100.0) as usize;
        if self.record.answers.len() <= bin {
            self.record.answers.resize(bin + 1, 0);
        }
        self.record.answers[bin] += 1;
    }

    fn sample(&mut self, at: Time) {
        if at >= self.sampled_at {
            self.sampled_at = at + Duration::from_millis(50);
            self.record.limits.push(self.shedder.view(at, QueueIndex(0)).unwrap().limit);
        }
    }
}

impl Record {
    /// Sum over the sources of a level.
    pub(crate) fn level(&self, scene: &Scene, level: u8) -> Tally {
        let mut sum = Tally::default();
        for (tally, source) in self.tallies.iter().zip(&scene.sources) {
            if source.level == level {
                sum.add(tally);
            }
        }
        sum
    }

    pub(crate) fn all(&self) -> Tally {
        let mut sum = Tally::default();
        self.tallies.iter().for_each(|tally| sum.add(tally));
        sum
    }

    /// Answers in time, per second counted, over capacity.
    pub(crate) fn goodput(&self, scene: &Scene) -> f64 {
        self.all().ok as f64 / (scene.seconds - 1.0 - scene.count_from) / scene.capacity()
    }

    /// Standard deviation of the refused share by second, in points.
    pub(crate) fn swing(&self, from: usize) -> f64 {
        let shares: Vec<f64> = self.seconds[from..self.seconds.len() - 1]
            .iter()
            .filter(|second| second.0 > 0)
            .map(|second| second.1 as f64 / second.0 as f64 * 100.0)
            .collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        (shares.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / shares.len() as f64).sqrt()
    }
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.ok += other.ok;
        self.late += other.late;
        self.refused += other.refused;
        self.expired += other.expired;
        self.hung_up += other.hung_up;
        self.would_refuse += other.would_refuse;
        self.answered_ms.extend_from_slice(&other.answered_ms);
        self.refused_ms.extend_from_slice(&other.refused_ms);
    }

    pub(crate) fn success(&self) -> f64 {
        self.ok as f64 / self.offered.max(1) as f64
    }

    pub(crate) fn answered(&self, quantile: f64) -> f64 {
        percentile(&self.answered_ms, quantile)
    }

    pub(crate) fn refused(&self, quantile: f64) -> f64 {
        percentile(&self.refused_ms, quantile)
    }
}

fn percentile(values: &[f32], quantile: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let position = ((sorted.len() as f64 * quantile) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(position).map_or(0.0, |&it| f64::from(it))
}
