//! A machine with a server on it: the real `Leadership` decides whether it leads,
//! this carries it out. It may be killed, stopped, cut off from the store, and turn
//! other servers away although it lives.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::handover::HandoverState;
use plimsoll_ownership::leadership::{Act, Leadership};
use plimsoll_ownership::namespace::{Namespace, Origin};
use plimsoll_placement::time::Time;

use crate::etcd::{Answer, Ask, Etcd, Won};
use crate::locals::Clock;
use crate::store::Store;
use crate::term::Term;
use crate::world::{EPOCH_MS, Happening, NAMESPACE, World};

const TICK: Duration = Duration::from_millis(100);
/// Between two looks at the store.
const LOOK: Duration = Duration::from_millis(500);
/// The longest that an election or a hand-over may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// A leader whose changes are not stored for so long gives up.
const STUCK: Duration = Duration::from_secs(3);
/// How long a server that goes down may hand over.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Machine {
    number: usize,
    pub(crate) clock: Clock,
    /// Of its process.
    pub(crate) life: u32,
    pub(crate) leadership: Option<Leadership>,
    pub(crate) term: Option<Term>,
    pub(crate) still_until: Time,
    /// Nothing passes between it and the store before then.
    pub(crate) cut_until: Time,
    /// Other servers find before then that its port refuses connections.
    pub(crate) refuses_until: Time,
    lease: Option<u64>,
    last_look: Time,
    /// Of the election or hand-over under way: its number, and since when.
    running: Option<(u64, Time)>,
    attempts: u64,
    /// Who hands over to it: the machine and its epoch.
    inviting: Option<(usize, u64)>,
}

impl Machine {
    pub(crate) fn new(world: &mut World, number: usize) -> Self {
        // A store that forgets has the time of day instead of the generations.
        let clock = match world.traits.durable {
            true => {
                let rate = world.chance.pick(&[1_000, 998, 1_002]);
                Clock::new(world.chance.below(1_000_000_000_000), rate)
            }
            false => Clock::new(0, 1_000),
        };
        Self {
            number,
            clock,
            life: 0,
            leadership: None,
            term: None,
            still_until: Time::ZERO,
            cut_until: Time::ZERO,
            refuses_until: Time::ZERO,
            lease: None,
            last_look: Time::ZERO,
            running: None,
            attempts: 0,
            inviting: None,
        }
    }

    pub(crate) fn id_of(&self, life: u32) -> Arc<str> {
        Arc::from(format!("server-{}-{life}", self.number))
    }

    pub(crate) fn place(&self) -> Arc<str> {
        Arc::from(format!("place-{}", self.number))
    }

    pub(crate) fn is_up(&self) -> bool {
        self.leadership.is_some()
    }

    /// Whether other servers find that somebody is there as this one.
    fn accepts(&self, now: Time, server: &Arc<str>) -> bool {
        self.is_up() && self.id_of(self.life) == *server && now >= self.refuses_until
    }
}

// === impl World: lives ===

impl World {
    pub(crate) fn start_machine(&mut self, number: usize) {
        if self.machines[number].is_up() {
            return;
        }
        let local = self.local(number);
        let machine = &mut self.machines[number];
        machine.life += 1;
        let id = machine.id_of(machine.life);
        let mut leadership = Leadership::new(local, id.clone());
        leadership.names(local, [Arc::from(NAMESPACE)]);
        machine.leadership = Some(leadership);
        (machine.lease, machine.running) = (None, None);
        machine.last_look = Time::ZERO;
        let life = machine.life;
        self.tell(|| format!("{id} starts"));
        match self.traits.durable {
            true => self.machine_ticks(number, life),
            false => self.begin_forgetful(number),
        }
    }

    /// Alone with a store of its own, which knows nothing.
    fn begin_forgetful(&mut self, number: usize) {
        let first = self.first.clone();
        self.etcd = Etcd::new(Store::new(first));
        self.etcd.epoch = u64::from(self.machines[number].life);
        self.excuse_the_starting();
        self.forget_drains();
        let (epoch, stored) = (self.etcd.epoch, self.etcd.records.stored());
        let won = Won { epoch, sent: Time::ZERO, stored, state: None };
        self.begin_term(number, won, Origin::Forgetful);
    }

    /// Kill -9.
    pub(crate) fn crash_machine(&mut self, number: usize) {
        if !self.machines[number].is_up() {
            return;
        }
        let id = self.machines[number].id_of(self.machines[number].life);
        self.tell(|| format!("{id} dies"));
        self.forget_term(number);
        let machine = &mut self.machines[number];
        machine.leadership = None;
        machine.still_until = Time::ZERO;
        let wait = match self.chance.percent(60) {
            true => self.chance.millis(10, 1_000),
            false => self.chance.millis(1_000, 8_000),
        };
        self.after(wait, Happening::MachineStarts { machine: number });
    }

    /// It goes down politely: it hands over, if there is anybody.
    pub(crate) fn retire_machine(&mut self, number: usize) {
        let machine = &mut self.machines[number];
        let Some(leadership) = &mut machine.leadership else { return };
        leadership.leave();
        let (id, life) = (machine.id_of(machine.life), machine.life);
        self.tell(|| format!("{id} is told to go"));
        self.after(LEAVE_WITHIN, Happening::MachineEnds { machine: number, life });
    }

    pub(crate) fn machine_ends(&mut self, number: usize, life: u32) {
        if self.machines[number].life == life {
            self.end_term(number);
            self.crash_machine(number);
        }
    }
}

// === impl World: who leads ===

impl World {
    pub(crate) fn machine_ticks(&mut self, number: usize, life: u32) {
        if self.machines[number].life != life || !self.machines[number].is_up() {
            return;
        }
        self.after(TICK, Happening::MachineTicks { machine: number, life });
        let local = self.local(number);
        if local - self.machines[number].last_look >= LOOK {
            self.machines[number].last_look = local;
            self.look_around(number, local);
        }
        self.give_up_waiting(number, local);
        self.decide(number);
    }

    fn look_around(&mut self, number: usize, sent: Time) {
        match self.machines[number].lease {
            Some(lease) => self.ask_store(number, Ask::Keep { lease, sent }),
            None => self.ask_store(number, Ask::Join),
        }
        self.ask_store(number, Ask::Look { sent });
    }

    fn give_up_waiting(&mut self, number: usize, local: Time) {
        let machine = &mut self.machines[number];
        if machine.running.take_if(|(_, since)| local - *since >= PATIENCE).is_some() {
            self.end_term(number);
            self.with_leadership(number, |leadership, now| leadership.ended(now, NAMESPACE));
        }
        let machine = &self.machines[number];
        if machine.term.as_ref().is_some_and(|term| term.is_stuck(local, STUCK)) {
            self.tell(|| format!("machine {number} cannot store its changes"));
            self.end_term(number);
            self.with_leadership(number, |leadership, now| leadership.stuck(now, NAMESPACE));
        }
    }

    fn with_leadership<R>(
        &mut self,
        number: usize,
        f: impl FnOnce(&mut Leadership, Time) -> R,
    ) -> Option<R> {
        let local = self.local(number);
        Some(f(self.machines[number].leadership.as_mut()?, local))
    }

    fn decide(&mut self, number: usize) {
        let acts = self.with_leadership(number, Leadership::decide).unwrap_or_default();
        for act in acts {
            self.tell(|| format!("machine {number}: {act:?}"));
            self.act(number, act);
        }
    }

    fn act(&mut self, number: usize, act: Act) {
        match act {
            Act::Run { replacing, .. } => self.run_for_it(number, replacing),
            Act::StepDown { .. } => {
                self.end_term(number);
                self.with_leadership(number, |leadership, now| leadership.ended(now, NAMESPACE));
            }
            Act::HandOver { to, .. } => self.hand_over(number, &to),
            Act::Resign { epoch, .. } => self.ask_store(number, Ask::Resign { epoch }),
        }
    }

    fn next_attempt(&mut self, number: usize) -> u64 {
        let local = self.local(number);
        let machine = &mut self.machines[number];
        machine.attempts += 1;
        machine.running = Some((machine.attempts, local));
        machine.attempts
    }

    fn run_for_it(&mut self, number: usize, replacing: Option<u64>) {
        let (attempt, sent) = (self.next_attempt(number), self.local(number));
        // Without a lease it cannot win, and gives up.
        let lease = self.machines[number].lease.unwrap_or_default();
        self.ask_store(number, Ask::Run { attempt, lease, replacing, sent });
    }

    pub(crate) fn answers(&mut self, number: usize, life: u32, answer: Answer) {
        if self.machines[number].life != life || !self.machines[number].is_up() {
            return;
        }
        match answer {
            Answer::Joined { lease } => self.machines[number].lease = Some(lease),
            Answer::Kept { sent } => {
                self.with_leadership(number, |leadership, _| leadership.kept_alive(sent));
            }
            Answer::LeaseLost { lease } => self.lease_lost(number, lease),
            Answer::Looked { sent, seen } => {
                self.with_leadership(number, |it, now| it.observed(now, sent, seen.clone()));
                self.probe(number, seen.leaders.values().map(|led| &led.server));
            }
            Answer::Won { attempt, won } => self.won(number, attempt, *won),
            Answer::NotWon { attempt } => self.not_won(number, attempt),
            Answer::Committed { epoch, number: batch } => self.batch_held(number, epoch, batch),
            Answer::Refused { epoch, number: batch } => self.refused(number, epoch, batch),
        }
        if self.traits.durable {
            self.decide(number);
        }
    }

    fn lease_lost(&mut self, number: usize, lease: u64) {
        let machine = &mut self.machines[number];
        if machine.lease.take_if(|mine| *mine == lease).is_some() {
            self.with_leadership(number, |leadership, _| leadership.lease_lost());
        }
    }

    /// Does the leader's address refuse connections?
    fn probe<'a>(&mut self, number: usize, leaders: impl Iterator<Item = &'a Arc<str>>) {
        for leader in leaders {
            let accepts = self.machines.iter().any(|it| it.accepts(self.now, leader));
            if !accepts {
                self.with_leadership(number, |it, now| it.refuses(now, leader));
            }
        }
    }

    fn won(&mut self, number: usize, attempt: u64, won: Won) {
        let machine = &mut self.machines[number];
        if machine.running.take_if(|(running, _)| *running == attempt).is_none() {
            return;
        }
        let (epoch, sent) = (won.epoch, won.sent);
        let ns = Arc::from(NAMESPACE);
        self.with_leadership(number, |it, now| it.leads(now, &ns, epoch, sent));
        let origin = match epoch {
            1 => Origin::New,
            _ => Origin::Takeover { confidence: plimsoll_ownership::leadership::CONFIDENCE },
        };
        let inviting = self.machines[number].inviting.take().filter(|_| won.state.is_some());
        self.begin_term(number, won, origin);
        if let Some((from, epoch)) = inviting {
            let wait = self.delay();
            self.after(wait, Happening::Taken { machine: from, epoch });
        }
    }

    /// Its leadership is in other hands.
    pub(crate) fn taken(&mut self, number: usize, epoch: u64) {
        if self.machines[number].term.as_ref().is_some_and(|term| term.epoch == epoch) {
            self.machines[number].running = None;
            self.end_term(number);
            self.with_leadership(number, |leadership, now| leadership.ended(now, NAMESPACE));
        }
    }

    fn not_won(&mut self, number: usize, attempt: u64) {
        let machine = &mut self.machines[number];
        if machine.running.take_if(|(running, _)| *running == attempt).is_some() {
            self.with_leadership(number, |leadership, now| leadership.ended(now, NAMESPACE));
        }
    }

    /// What was overtaken by its own repetition says nothing.
    fn refused(&mut self, number: usize, epoch: u64, batch: u64) {
        let term = self.machines[number].term.as_ref();
        if term.is_some_and(|term| term.epoch == epoch && term.waits_for(batch)) {
            self.end_term(number);
            self.with_leadership(number, |leadership, now| leadership.ended(now, NAMESPACE));
        }
    }

    fn begin_term(&mut self, number: usize, won: Won, origin: Origin) {
        self.forget_term(number);
        self.terms += 1;
        let local = self.local(number);
        let record = self.etcd.records.record.clone();
        let namespace = match won.state {
            Some(state) => Namespace::take_over(local, EPOCH_MS, &record, won.stored, state),
            None => Namespace::new(local, EPOCH_MS, &record, won.stored, origin),
        };
        let (term, epoch) = (self.terms, won.epoch);
        self.tell(|| format!("machine {number} leads: term {term}, epoch {epoch}, {origin:?}"));
        self.machines[number].term = Some(Term::new(term, epoch, namespace.unwrap()));
        self.turn(number);
    }
}

// === impl World: handing over ===

impl World {
    /// The leader falls silent and passes on what it knows.
    fn hand_over(&mut self, number: usize, to: &Arc<str>) {
        let local = self.local(number);
        let target = self.machines.iter().position(|it| it.is_up() && it.id_of(it.life) == *to);
        self.next_attempt(number);
        let Some(term) = &mut self.machines[number].term else { return };
        term.silent = true;
        let (state, epoch) = (term.namespace.hand_over(local), term.epoch);
        if let Some(to) = target {
            let wait = self.delay();
            let (state, life) = (Box::new(state), self.machines[to].life);
            self.after(wait, Happening::Invited { machine: to, life, epoch, state, from: number });
        }
    }

    pub(crate) fn invited(
        &mut self,
        number: usize,
        life: u32,
        replacing: u64,
        state: Box<HandoverState>,
        from: usize,
    ) {
        if self.machines[number].life != life {
            return;
        }
        if self.with_leadership(number, |it, _| it.invited(NAMESPACE)) != Some(true) {
            return;
        }
        let (attempt, sent) = (self.next_attempt(number), self.local(number));
        self.machines[number].inviting = Some((from, replacing));
        let lease = self.machines[number].lease.unwrap_or_default();
        self.ask_store(number, Ask::Succeed { attempt, lease, replacing, sent, state });
    }
}
