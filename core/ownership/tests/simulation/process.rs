//! A process around the real `Holder`: it dials, starts and stops, sleeps and
//! decides nothing. It may be killed, stopped and started again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Farewell, Tell};
use plimsoll_ownership::holder::{
    Action, FarewellReason, Holder, Incoming, Outgoing, Pace, Revocation, Settings,
};
use plimsoll_ownership::message::{Grant, Preparation};
use plimsoll_ownership::namespace::Holding;
use plimsoll_placement::time::Time;

use crate::locals::Clock;
use crate::network::{Cut, StreamId};
use crate::world::{Happening, Said, World};

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) host: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) life: u32,
    /// The executor id in each life.
    ids: Vec<Arc<str>>,
    pub(crate) holder: Option<Holder>,
    pub(crate) stream: Option<StreamId>,
    pub(crate) instances: BTreeMap<Arc<str>, Instance>,
    pub(crate) still_until: Time,
    pub(crate) cut: Cut,
    /// It was told to leave, and would wait for ever to be emptied.
    pub(crate) leaving: bool,
    /// Its next life has the same name: it said that it comes back.
    returns: bool,
    prepares: bool,
    /// Where it dials next.
    next_machine: usize,
    timer: u64,
    attempt: u64,
    tokens: u64,
}

/// A shard as the application runs it.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) generation: u64,
    pub(crate) stopping: bool,
    starting: bool,
    /// The lease has been over since it was started: whatever it still does is
    /// refused by the holder, or may be done by another, too, where leases are
    /// outlived. Until a welcome says that it is the owner's again.
    pub(crate) fenced: bool,
    /// What it hands to the next owner: the last generation it was known to run under.
    leaves: u64,
    token: u64,
}

impl Process {
    pub(crate) fn new(world: &mut World, number: usize) -> Self {
        let hosts = world.traits.hosts.clone();
        let rate = world.chance.pick(&[1_000, 1_000, 1_000, 805, 900, 1_200]);
        let prepares = world.chance.percent(70);
        Self {
            host: hosts[number % hosts.len()].clone(),
            clock: Clock::new(world.chance.below(1_000_000_000_000), rate),
            life: 0,
            ids: vec![Arc::from(format!("process-{number}"))],
            holder: None,
            stream: None,
            instances: BTreeMap::new(),
            still_until: Time::ZERO,
            cut: Cut::default(),
            leaving: false,
            returns: false,
            prepares,
            next_machine: number,
            timer: 0,
            attempt: 0,
            tokens: 0,
        }
    }

    pub(crate) fn id_of(&self, life: u32) -> Arc<str> {
        self.ids[life as usize].clone()
    }

    pub(crate) fn id(&self) -> Arc<str> {
        self.id_of(self.life)
    }

    /// The lease holds at this very moment, by the process's own clock.
    pub(crate) fn may_run(&self, now: Time) -> bool {
        let now = self.clock.at(now);
        let end = self.holder.as_ref().and_then(Holder::lease_end);
        end.is_some_and(|end| now < end)
    }

    fn fence_if_over(&mut self, now: Time) {
        if !self.may_run(now) {
            self.instances.values_mut().for_each(|instance| instance.fenced = true);
        }
    }
}

// === impl World: lives ===

impl World {
    pub(crate) fn start_process(&mut self, number: usize) {
        let same_id = self.chance.percent(50);
        let patience = self.traits.patience;
        let process = &mut self.processes[number];
        if process.holder.is_some() {
            return;
        }
        process.life += 1;
        process.leaving = false;
        let id = match same_id || std::mem::take(&mut process.returns) {
            true => process.ids[process.ids.len() - 1].clone(),
            false => Arc::from(format!("process-{number}-{}", process.life)),
        };
        process.ids.push(id.clone());
        process.holder = Some(Holder::new(Settings { patience, ..Settings::default() }));
        let life = process.life;
        self.tell(|| format!("process {number} starts as {id}"));
        self.after(Duration::from_millis(1), Happening::Dials { process: number, life });
    }

    /// It goes, and its next life has the same name.
    pub(crate) fn restart_process(&mut self, number: usize) {
        self.processes[number].returns = true;
        self.with_holder(number, Holder::goodbye_for_now);
    }

    pub(crate) fn crash_process(&mut self, number: usize) {
        let process = &mut self.processes[number];
        if process.holder.take().is_none() {
            return;
        }
        process.instances.clear();
        process.still_until = Time::ZERO;
        let stream = process.stream.take();
        self.tell(|| format!("process {number} dies"));
        if let Some(stream) = stream {
            self.hang_up(stream);
        }
        let wait = match self.chance.percent(50) {
            true => self.chance.millis(10, 500),
            false => self.chance.millis(500, 6_000),
        };
        self.after(wait, Happening::ProcessStarts { process: number });
    }

    pub(crate) fn dial(&mut self, number: usize, life: u32) {
        let process = &self.processes[number];
        if process.life != life || process.holder.is_none() || process.stream.is_some() {
            return;
        }
        let machine = self.processes[number].next_machine % self.machines.len();
        self.processes[number].next_machine += 1;
        let Some(term) = self.term_behind(machine) else {
            let wait = Duration::from_millis(50);
            return self.after(wait, Happening::Dials { process: number, life });
        };
        self.tell(|| format!("process {number} dials machine {machine}"));
        let stream = self.network.open(number, life, term, self.now);
        self.processes[number].stream = Some(stream);
        self.with_holder(number, Holder::connected);
    }

    pub(crate) fn process_timer(&mut self, number: usize, life: u32, version: u64) {
        let process = &self.processes[number];
        if process.life == life && process.timer == version {
            self.with_holder(number, Holder::handle_timeout);
            let process = &self.processes[number];
            let due = process.holder.as_ref().and_then(Holder::poll_timeout);
            let local = process.clock.at(self.now);
            assert!(due.is_none_or(|due| due > local), "the timer is due again at once");
        }
    }
}

// === impl World: the driver of a holder ===

impl World {
    pub(crate) fn with_holder(&mut self, number: usize, f: impl FnOnce(&mut Holder, Time)) {
        let now = self.now;
        let process = &mut self.processes[number];
        process.fence_if_over(now);
        let local = process.clock.at(now);
        let Some(holder) = &mut process.holder else { return };
        f(holder, local);
        while let Some(action) = self.next_action(number) {
            self.perform(number, action);
        }
        self.processes[number].fence_if_over(now);
        self.arm_process_timer(number);
    }

    fn next_action(&mut self, number: usize) -> Option<Action> {
        self.processes[number].holder.as_mut().and_then(Holder::poll_action)
    }

    fn arm_process_timer(&mut self, number: usize) {
        let process = &mut self.processes[number];
        process.timer += 1;
        let (life, version) = (process.life, process.timer);
        if let Some(due) = process.holder.as_ref().and_then(Holder::poll_timeout) {
            let at = process.clock.when(due);
            self.at(at, Happening::ProcessTimer { process: number, life, version });
        }
    }

    fn perform(&mut self, number: usize, action: Action) {
        match action {
            Action::Send(message) => self.send(number, message),
            Action::Start(grant) => self.start(number, &grant),
            Action::Prepare(preparation) => self.prepare(number, preparation),
            Action::Abandon(_) => {}
            Action::LeaseOutlived => assert!(self.traits.keep, "no lease is outlived here"),
            Action::Stop { shard, generation, reason } => {
                self.tell(|| format!("process {number} stops {shard}@{generation}: {reason:?}"));
                self.stop(number, shard);
            }
            Action::Reconnect(pace) => self.reconnect(number, pace),
            Action::Finished(finish) => {
                self.tell(|| format!("process {number} is finished: {finish:?}"));
                self.crash_process(number);
            }
        }
    }

    fn send(&mut self, number: usize, message: Outgoing) {
        let wall = self.wall_micros();
        let process = &mut self.processes[number];
        let Some(stream) = process.stream else { return };
        let said = match message {
            Outgoing::Hello { running } => {
                process.attempt = wall.max(process.attempt + 1);
                let running = running
                    .into_iter()
                    .map(|h| Holding {
                        shard: h.shard,
                        generation: h.generation,
                        stopping: h.stopping,
                    })
                    .collect();
                Said::Hello { attempt: process.attempt, running, prepares: process.prepares }
            }
            Outgoing::Beat { sequence } => {
                let loads = self.measure(number);
                Said::Beat { sequence, loads }
            }
            other => Said::Other(other),
        };
        self.send_up(stream, said);
    }

    fn measure(&mut self, number: usize) -> Vec<(Arc<str>, f64)> {
        if !self.chance.percent(20) {
            return Vec::new();
        }
        let keys: Vec<_> = self.processes[number].instances.keys().cloned().collect();
        keys.into_iter().map(|key| (key, self.draw_load())).collect()
    }

    /// Wild while there is trouble; then balance comes to rest.
    pub(crate) fn draw_load(&mut self) -> f64 {
        if self.is_wild() { self.chance.below(100) as f64 } else { 1.0 }
    }

    fn reconnect(&mut self, number: usize, pace: Pace) {
        let process = &mut self.processes[number];
        let life = process.life;
        if let Some(stream) = process.stream.take() {
            self.hang_up(stream);
        }
        let wait = match pace {
            Pace::AtOnce => self.chance.millis(1, 20),
            Pace::BackOff => self.chance.millis(20, 300),
            Pace::Slowly => Duration::from_secs(1),
        };
        self.after(wait, Happening::Dials { process: number, life });
    }

    pub(crate) fn told(&mut self, stream: StreamId, told: Tell) {
        let number = self.network.process_of(stream);
        if self.processes[number].stream != Some(stream) {
            return;
        }
        let grants = match &told {
            // A server that forgets does not know who was granted it since.
            Tell::Welcome { grants, .. } if self.traits.keep && self.traits.durable => {
                grants.clone()
            }
            _ => Vec::new(),
        };
        let message = incoming(told);
        self.with_holder(number, |holder, now| holder.handle(now, message));
        for grant in grants {
            self.is_its_own_again(number, &grant);
        }
    }

    /// What ran on after the end of its lease is found to be where it belongs.
    fn is_its_own_again(&mut self, number: usize, grant: &Grant) {
        let now = self.now;
        let process = &mut self.processes[number];
        let may_run = process.may_run(now);
        let Some(instance) = process.instances.get_mut(&grant.shard) else { return };
        if may_run && instance.fenced && !instance.stopping {
            instance.fenced = false;
            instance.leaves = grant.generation;
            self.check_alone(&grant.shard);
            self.oracle.runs_under(&grant.shard, grant.generation);
        }
    }

    pub(crate) fn end_seen_by_process(&mut self, stream: StreamId) {
        let number = self.network.process_of(stream);
        if self.processes[number].stream == Some(stream) {
            self.processes[number].stream = None;
            self.with_holder(number, Holder::disconnected);
        }
    }
}

// === impl World: the application ===

impl World {
    fn start(&mut self, number: usize, grant: &Grant) {
        let (shard, generation) = (grant.shard.clone(), grant.generation);
        self.tell(|| format!("process {number} starts {shard}@{generation}"));
        self.check_legacy(grant);
        self.check_start(number, &shard, generation);
        let (wait, well) = self.draw_start();
        let process = &mut self.processes[number];
        process.tokens += 1;
        let (life, token) = (process.life, process.tokens);
        let instance = Instance {
            generation,
            stopping: false,
            starting: true,
            fenced: false,
            leaves: generation,
            token,
        };
        let earlier = process.instances.insert(shard.clone(), instance);
        assert!(earlier.is_none(), "two instances of {shard} in one process");
        self.after(wait, Happening::StartEnds { process: number, life, shard, token, well });
    }

    fn prepare(&mut self, number: usize, preparation: Preparation) {
        let wait = match self.chance.below(100) {
            0..5 if self.trouble => self.chance.millis(2_000, 8_000),
            _ => self.chance.micros(100, 50_000),
        };
        let well = !self.trouble || self.chance.percent(90);
        let life = self.processes[number].life;
        self.after(wait, Happening::PrepareEnds { process: number, life, preparation, well });
    }

    pub(crate) fn prepare_ends(
        &mut self,
        number: usize,
        life: u32,
        preparation: &Preparation,
        well: bool,
    ) {
        if self.processes[number].life != life {
            return;
        }
        let Preparation { shard, generation } = preparation;
        let outcome = if well { Ok(()) } else { Err("no room".to_owned()) };
        self.with_holder(number, |it, now| it.prepared(now, shard, *generation, outcome));
    }

    /// How long a start takes, and whether it works.
    pub(crate) fn draw_start(&mut self) -> (Duration, bool) {
        match self.chance.below(100) {
            0..4 if self.is_wild() => (self.chance.millis(500, 3_000), true),
            4..7 if self.is_wild() => (self.chance.millis(1, 500), false),
            _ => (self.chance.micros(100, 20_000), true),
        }
    }

    fn stop(&mut self, number: usize, shard: Arc<str>) {
        let wait = match self.chance.below(100) {
            0..1 if self.trouble => self.chance.millis(5_000, 15_000),
            1..6 if self.trouble => self.chance.millis(500, 5_000),
            _ => self.chance.micros(100, 20_000),
        };
        let process = &mut self.processes[number];
        process.tokens += 1;
        let (life, token) = (process.life, process.tokens);
        let Some(instance) = process.instances.get_mut(&shard) else {
            panic!("process {number} is to stop {shard}, which it has not");
        };
        (instance.stopping, instance.starting, instance.token) = (true, false, token);
        self.after(wait, Happening::StopEnds { process: number, life, shard, token });
    }

    pub(crate) fn start_ends(
        &mut self,
        number: usize,
        life: u32,
        shard: &Arc<str>,
        token: u64,
        well: bool,
    ) {
        let Some(generation) = self.current(number, life, shard, token) else { return };
        let process = &mut self.processes[number];
        if well {
            process.instances.get_mut(shard).unwrap().starting = false;
        } else {
            process.instances.remove(shard);
        }
        let outcome = if well { Ok(()) } else { Err("no luck".to_owned()) };
        self.with_holder(number, |holder, now| holder.started(now, shard, generation, outcome));
    }

    pub(crate) fn stop_ends(&mut self, number: usize, life: u32, shard: &Arc<str>, token: u64) {
        let Some(generation) = self.current(number, life, shard, token) else { return };
        self.tell(|| format!("process {number} has stopped {shard}@{generation}"));
        let instance = self.processes[number].instances.remove(shard);
        let left = instance.map_or(generation, |instance| instance.leaves);
        // Those that prepare leave something to the next owner, too.
        let leaves = self.processes[number].prepares && self.chance.percent(80);
        let state = leaves.then(|| Arc::from(left.to_le_bytes()));
        self.with_holder(number, |holder, now| holder.stopped(now, shard, generation, state));
    }

    /// The generation of the instance that this is about, unless it is gone.
    fn current(&self, number: usize, life: u32, shard: &Arc<str>, token: u64) -> Option<u64> {
        let process = &self.processes[number];
        let instance = process.instances.get(shard)?;
        let same = process.life == life && instance.token == token;
        same.then_some(instance.generation)
    }
}

fn incoming(told: Tell) -> Incoming {
    match told {
        Tell::Welcome { lease, beat, lease_end, grants, preparations } => {
            Incoming::Welcome { lease, beat, lease_end, grants, preparations }
        }
        Tell::Granted(grant) => Incoming::Granted(vec![grant]),
        Tell::Revoked { shard, generation, reason, next } => {
            let reason = reason.to_string();
            Incoming::Revoked(vec![Revocation { shard, generation, reason, next }])
        }
        Tell::Prepare(preparation) => Incoming::Prepare(vec![preparation]),
        Tell::Abandon(preparation) => Incoming::Abandon(vec![preparation]),
        Tell::BeatAck { sequence } => Incoming::BeatAck { sequence },
        Tell::Farewell(farewell) => Incoming::Farewell(match farewell {
            Farewell::Goodbye => FarewellReason::Goodbye,
            Farewell::Replaced => FarewellReason::Replaced,
            Farewell::Expired => FarewellReason::Expired,
            Farewell::NamespaceDeleted => FarewellReason::NamespaceDeleted,
            Farewell::ServerLeaving => FarewellReason::ServerLeaving,
        }),
    }
}
