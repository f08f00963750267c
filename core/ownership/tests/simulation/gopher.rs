//! An executor as the Go library has it: unary heartbeats, one at a time; no
//! lease; an empty answer changes nothing; what starts or stops is not reported.
//! `clients.md` section 2 is the model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::namespace::{Heartbeat, HeartbeatAnswer, Report, UnaryStatus};
use plimsoll_placement::time::Time;

use crate::network::Cut;
use crate::world::{Happening, World};

const INTERVAL_MILLIS: u64 = 1_000;
const DEADLINE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Gopher {
    pub(crate) host: Arc<str>,
    pub(crate) id: Arc<str>,
    pub(crate) life: u32,
    pub(crate) alive: bool,
    /// It has stopped everything and is about to go.
    pub(crate) leaving: bool,
    pub(crate) shards: BTreeMap<Arc<str>, Processor>,
    pub(crate) still_until: Time,
    pub(crate) cut: Cut,
    /// When a server last heard it.
    pub(crate) heard: Time,
    /// Whom it calls.
    machine: usize,
    calls: u64,
    in_flight: Option<u64>,
    up_until: Time,
    down_until: Time,
    tokens: u64,
}

/// A shard as the Go library runs it.
#[derive(Debug)]
pub(crate) struct Processor {
    pub(crate) running: bool,
    pub(crate) done: bool,
    /// It may run beside another: its executor was silent too long to be known
    /// to run it.
    pub(crate) excused: bool,
    token: u64,
}

impl Gopher {
    pub(crate) fn new(world: &mut World, number: usize) -> Self {
        let hosts = &world.traits.hosts;
        Self {
            host: hosts[(number + 1) % hosts.len()].clone(),
            id: Arc::from(""),
            life: 0,
            alive: false,
            leaving: false,
            shards: BTreeMap::new(),
            still_until: Time::ZERO,
            cut: Cut::default(),
            heard: Time::ZERO,
            machine: number,
            calls: 0,
            in_flight: None,
            up_until: Time::ZERO,
            down_until: Time::ZERO,
            tokens: 0,
        }
    }
}

// === impl World: lives ===

impl World {
    pub(crate) fn start_gopher(&mut self, number: usize) {
        let now = self.now;
        let gopher = &mut self.gophers[number];
        if gopher.alive {
            return;
        }
        gopher.life += 1;
        gopher.alive = true;
        gopher.leaving = false;
        // Every start is a new executor.
        gopher.id = Arc::from(format!("gopher-{number}@{}", gopher.life));
        gopher.heard = now;
        gopher.in_flight = None;
        let (life, id) = (gopher.life, gopher.id.clone());
        self.tell(|| format!("{id} starts"));
        self.next_tick(number, life);
    }

    pub(crate) fn crash_gopher(&mut self, number: usize) {
        let gopher = &mut self.gophers[number];
        if !gopher.alive {
            return;
        }
        gopher.alive = false;
        gopher.shards.clear();
        gopher.still_until = Time::ZERO;
        let id = gopher.id.clone();
        self.tell(|| format!("{id} dies"));
        let wait = self.chance.millis(100, 6_000);
        self.after(wait, Happening::GopherStarts { gopher: number });
    }

    /// A clean stop: every processor first, then one last heartbeat.
    pub(crate) fn stop_gopher(&mut self, number: usize) {
        let gopher = &mut self.gophers[number];
        if !gopher.alive || gopher.leaving {
            return;
        }
        gopher.leaving = true;
        let (life, id) = (gopher.life, gopher.id.clone());
        self.tell(|| format!("{id} stops everything and leaves"));
        let wait = self.chance.millis(1, 2_000);
        self.after(wait, Happening::GopherLeaves { gopher: number, life });
    }

    pub(crate) fn gopher_says_leaving(&mut self, number: usize, life: u32) {
        let gopher = &mut self.gophers[number];
        if gopher.life != life || !gopher.alive {
            return;
        }
        gopher.shards.clear();
        self.call(number, UnaryStatus::Leaving);
        self.crash_gopher(number);
    }

    fn next_tick(&mut self, number: usize, life: u32) {
        let wait = self.chance.millis(INTERVAL_MILLIS * 9 / 10, INTERVAL_MILLIS * 11 / 10);
        self.after(wait, Happening::GopherTicks { gopher: number, life });
    }

    pub(crate) fn gopher_ticks(&mut self, number: usize, life: u32) {
        let gopher = &self.gophers[number];
        if gopher.life != life || !gopher.alive || gopher.leaving {
            return;
        }
        self.next_tick(number, life);
        if self.gophers[number].in_flight.is_none() {
            self.call(number, UnaryStatus::Active);
        }
    }
}

// === impl World: heartbeats ===

impl World {
    fn call(&mut self, number: usize, status: UnaryStatus) {
        let load = self.draw_load();
        let delay = self.delay();
        let now = self.now;
        let gopher = &mut self.gophers[number];
        gopher.calls += 1;
        let (life, call) = (gopher.life, gopher.calls);
        gopher.in_flight = Some(call);
        let beat = gopher.beat(status, load);
        gopher.up_until = gopher.up_until.max(now.max(gopher.cut.up) + delay);
        let at = gopher.up_until;
        // What is on its way to a server that dies is lost.
        let machine = self.machine_for(number);
        let server = self.term_behind(machine).unwrap_or_default();
        self.at(at, Happening::Beat { server, gopher: number, life, call, beat });
        self.after(DEADLINE, Happening::CallEnds { gopher: number, life, call });
    }

    pub(crate) fn call_ends(&mut self, number: usize, life: u32, call: u64) {
        let gopher = &mut self.gophers[number];
        if gopher.life == life && gopher.in_flight == Some(call) {
            gopher.in_flight = None;
            gopher.goes_elsewhere();
        }
    }

    /// The one that it stays with until that does not answer, if that is there.
    fn machine_for(&self, number: usize) -> usize {
        let (first, all) = (self.gophers[number].machine, self.machines.len());
        let mut in_turn = (first..first + all).map(|machine| machine % all);
        in_turn.find(|machine| self.machines[*machine].is_up()).unwrap_or_default()
    }

    pub(crate) fn beat_arrives(
        &mut self,
        server: u32,
        number: usize,
        life: u32,
        call: u64,
        beat: &Heartbeat,
    ) {
        let now = self.now;
        if self.machine_of(server).is_none_or(|machine| !self.is_in_force(machine)) {
            return;
        }
        if self.gophers[number].life == life {
            self.excuse_the_silent(number);
            self.gophers[number].heard = now;
        }
        let Some(answer) = self.serve_beat(server, beat) else { return };
        self.tell(|| {
            let names: Vec<_> = beat.reports.iter().map(|report| &*report.shard).collect();
            let (id, status) = (&beat.executor, beat.status);
            format!("{id} {status:?} {names:?} is told {answer:?}")
        });
        let delay = self.delay();
        let gopher = &mut self.gophers[number];
        gopher.down_until = gopher.down_until.max(now.max(gopher.cut.down) + delay);
        let at = gopher.down_until;
        self.at(at, Happening::Answered { gopher: number, life, call, answer });
    }

    pub(crate) fn answer_arrives(
        &mut self,
        number: usize,
        life: u32,
        call: u64,
        answer: &HeartbeatAnswer,
    ) {
        let gopher = &mut self.gophers[number];
        if gopher.life != life || gopher.in_flight != Some(call) {
            return;
        }
        gopher.in_flight = None;
        let nothing = answer.ready.is_empty() && answer.revoked.is_empty();
        if !gopher.alive || gopher.leaving || nothing {
            return;
        }
        gopher.shards.retain(|shard, _| answer.ready.contains(shard));
        for shard in &answer.ready {
            if !self.gophers[number].shards.contains_key(shard) {
                self.start_processor(number, shard);
            }
        }
    }

    fn start_processor(&mut self, number: usize, shard: &Arc<str>) {
        let excused = self.check_go_start(number, shard);
        let (wait, well) = self.draw_start();
        let gopher = &mut self.gophers[number];
        gopher.tokens += 1;
        let (life, token, id) = (gopher.life, gopher.tokens, gopher.id.clone());
        let processor = Processor { running: false, done: false, excused, token };
        gopher.shards.insert(shard.clone(), processor);
        self.tell(|| format!("{id} starts {shard}"));
        let shard = shard.clone();
        self.after(wait, Happening::GopherStarted { gopher: number, life, shard, token, well });
    }

    pub(crate) fn gopher_started(
        &mut self,
        number: usize,
        life: u32,
        shard: &Arc<str>,
        token: u64,
        well: bool,
    ) {
        let gopher = &mut self.gophers[number];
        let Some(processor) = gopher.shards.get_mut(shard) else { return };
        if gopher.life != life || processor.token != token {
            return;
        }
        if well {
            processor.running = true;
        } else {
            gopher.shards.remove(shard);
        }
    }
}

impl Gopher {
    /// The next call is to another server.
    pub(crate) fn goes_elsewhere(&mut self) {
        self.machine += 1;
    }

    fn beat(&self, status: UnaryStatus, load: f64) -> Heartbeat {
        let running = self.shards.iter().filter(|(_, processor)| processor.running);
        let report = |(shard, processor): (&Arc<str>, &Processor)| Report {
            shard: shard.clone(),
            done: processor.done,
            load,
        };
        Heartbeat {
            executor: self.id.clone(),
            host: self.host.clone(),
            status,
            wire_status: if status == UnaryStatus::Active { 1 } else { 2 },
            metadata: Arc::default(),
            reports: running.map(report).collect(),
        }
    }
}
