//! The event loop: what happens when, in one order that the seed decides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::Tell;
use plimsoll_ownership::handover::HandoverState;
use plimsoll_ownership::holder::Outgoing;
use plimsoll_ownership::message::Preparation;
use plimsoll_ownership::namespace::{Heartbeat, HeartbeatAnswer, Holding};
use plimsoll_ownership::record::{Kind, NamespaceRecord};
use plimsoll_placement::time::Time;

use crate::chance::Chance;
use crate::etcd::{Answer, Ask, Etcd};
use crate::gopher::Gopher;
use crate::machine::Machine;
use crate::network::{Network, StreamId};
use crate::operator::Operator;
use crate::oracle::{Oracle, Verdict};
use crate::process::Process;
use crate::store::Store;

/// What `Time::ZERO` is, in milliseconds since 1970.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;
pub(crate) const NAMESPACE: &str = "orders";
/// Before anything goes wrong where only leaders change.
const PEACE: Duration = Duration::from_secs(5);
/// How long things go wrong.
const TROUBLE: Duration = Duration::from_secs(30);
/// How long after that everything may take to be in order. The longest single
/// waits are a stuck stop, a mass failure and a shard that failed to start.
const BOUND: Duration = Duration::from_secs(75);
const LOOK: Duration = Duration::from_millis(100);

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) chance: Chance,
    pub(crate) story: Vec<String>,
    tells: bool,
    queue: BinaryHeap<Reverse<Entry>>,
    entries: u64,
    pub(crate) traits: Traits,
    pub(crate) trouble: bool,
    pub(crate) trouble_began: bool,
    pub(crate) network: Network,
    pub(crate) etcd: Etcd,
    pub(crate) store_stalls_until: Time,
    /// The record that a server that forgets starts from.
    pub(crate) first: NamespaceRecord,
    pub(crate) machines: Vec<Machine>,
    /// How many leaders there were.
    pub(crate) terms: u32,
    pub(crate) processes: Vec<Process>,
    pub(crate) gophers: Vec<Gopher>,
    pub(crate) operator: Operator,
    pub(crate) oracle: Oracle,
}

/// What is the same for a whole run.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    /// The store survives the server.
    pub(crate) durable: bool,
    /// Nothing goes wrong but what makes leaders change.
    pub(crate) calm: bool,
    pub(crate) kind: Kind,
    pub(crate) keys: Vec<Arc<str>>,
    pub(crate) hosts: Vec<Arc<str>>,
    pub(crate) heartbeat_ttl: Duration,
    /// How long a process waits for a welcome.
    pub(crate) patience: Duration,
    /// At the end of a lease everything runs on.
    pub(crate) keep: bool,
}

#[derive(Debug)]
pub(crate) enum Happening {
    Look,
    Nemesis,
    Ask,
    LeasesEnd,
    MachineStarts {
        machine: usize,
    },
    MachineTicks {
        machine: usize,
        life: u32,
    },
    MachineEnds {
        machine: usize,
        life: u32,
    },
    /// The store hears a server.
    Asked {
        machine: usize,
        life: u32,
        ask: Ask,
    },
    /// A server hears the store.
    Answers {
        machine: usize,
        life: u32,
        answer: Answer,
    },
    Invited {
        machine: usize,
        life: u32,
        epoch: u64,
        state: Box<HandoverState>,
        from: usize,
    },
    Taken {
        machine: usize,
        epoch: u64,
    },
    TermTimer {
        machine: usize,
        term: u32,
    },
    StoreIsSlow {
        machine: usize,
        term: u32,
        batch: u64,
    },
    /// On a stream, from an executor.
    Said {
        stream: StreamId,
        said: Said,
    },
    EndSeenByServer {
        stream: StreamId,
    },
    /// On a stream, to an executor.
    Told {
        stream: StreamId,
        told: Tell,
    },
    EndSeenByProcess {
        stream: StreamId,
    },
    Dials {
        process: usize,
        life: u32,
    },
    ProcessTimer {
        process: usize,
        life: u32,
        version: u64,
    },
    StartEnds {
        process: usize,
        life: u32,
        shard: Arc<str>,
        token: u64,
        well: bool,
    },
    StopEnds {
        process: usize,
        life: u32,
        shard: Arc<str>,
        token: u64,
    },
    PrepareEnds {
        process: usize,
        life: u32,
        preparation: Preparation,
        well: bool,
    },
    ProcessStarts {
        process: usize,
    },
    GopherTicks {
        gopher: usize,
        life: u32,
    },
    Beat {
        server: u32,
        gopher: usize,
        life: u32,
        call: u64,
        beat: Heartbeat,
    },
    Answered {
        gopher: usize,
        life: u32,
        call: u64,
        answer: HeartbeatAnswer,
    },
    CallEnds {
        gopher: usize,
        life: u32,
        call: u64,
    },
    GopherStarted {
        gopher: usize,
        life: u32,
        shard: Arc<str>,
        token: u64,
        well: bool,
    },
    GopherLeaves {
        gopher: usize,
        life: u32,
    },
    GopherStarts {
        gopher: usize,
    },
}

/// What travels up a stream.
#[derive(Debug)]
pub(crate) enum Said {
    Hello { attempt: u64, running: Vec<Holding>, prepares: bool },
    Beat { sequence: u64, loads: Vec<(Arc<str>, f64)> },
    Other(Outgoing),
}

#[derive(Debug)]
struct Entry {
    at: Time,
    number: u64,
    what: Happening,
}

impl World {
    pub(crate) fn new(seed: u64, tells: bool) -> Self {
        let mut chance = Chance::new(seed);
        let traits = Traits::draw(&mut chance);
        let record = record(&mut chance, &traits);
        let processes = 2 + chance.index(4);
        let gophers = chance.index(4);
        let mut world = Self {
            now: Time::from_millis(1_000),
            chance,
            story: Vec::new(),
            tells,
            queue: BinaryHeap::new(),
            entries: 0,
            traits,
            trouble: true,
            trouble_began: false,
            network: Network::default(),
            etcd: Etcd::new(Store::new(record.clone())),
            store_stalls_until: Time::ZERO,
            first: record,
            machines: Vec::new(),
            terms: 0,
            processes: Vec::new(),
            gophers: Vec::new(),
            operator: Operator::default(),
            oracle: Oracle::default(),
        };
        let machines = if world.traits.durable { 3 } else { 1 };
        world.machines = (0..machines).map(|number| Machine::new(&mut world, number)).collect();
        world.processes = (0..processes).map(|number| Process::new(&mut world, number)).collect();
        world.gophers = (0..gophers).map(|number| Gopher::new(&mut world, number)).collect();
        world
    }

    /// Runs the world to its end. Panics if anything is wrong.
    pub(crate) fn run(&mut self) -> Verdict {
        for number in 0..self.machines.len() {
            self.start_machine(number);
        }
        for number in 0..self.processes.len() {
            self.after(Duration::from_millis(1), Happening::ProcessStarts { process: number });
        }
        for number in 0..self.gophers.len() {
            self.after(Duration::from_millis(1), Happening::GopherStarts { gopher: number });
        }
        for what in [Happening::LeasesEnd, Happening::Look, Happening::Ask] {
            self.after(Duration::from_millis(100), what);
        }
        if self.traits.calm {
            self.trouble = false;
            self.run_until(self.now + PEACE);
            self.trouble = true;
        }
        self.trouble_began = true;
        self.after(Duration::from_millis(100), Happening::Nemesis);
        let end_of_trouble = self.now + TROUBLE;
        self.run_until(end_of_trouble);
        self.end_trouble();
        let bound = self.now + BOUND;
        while let Some(disorder) = self.disorder() {
            assert!(self.now < bound, "still in disorder: {disorder}");
            self.run_until(self.now + LOOK);
        }
        self.oracle.terms = u64::from(self.terms);
        self.oracle.verdict(self.now)
    }

    fn run_until(&mut self, end: Time) {
        while self.queue.peek().is_some_and(|Reverse(entry)| entry.at <= end) {
            let Some(Reverse(entry)) = self.queue.pop() else { return };
            self.now = entry.at;
            self.happen(entry.what);
            self.oracle.events += 1;
        }
        self.now = end;
    }

    pub(crate) fn after(&mut self, wait: Duration, what: Happening) {
        self.at(self.now + wait, what);
    }

    pub(crate) fn at(&mut self, at: Time, what: Happening) {
        self.entries += 1;
        let (at, number) = (at.max(self.now), self.entries);
        self.queue.push(Reverse(Entry { at, number, what }));
    }

    fn happen(&mut self, what: Happening) {
        if let Some(until) = self.standing_still(&what).filter(|until| *until > self.now) {
            return self.at(until, what);
        }
        match what {
            Happening::Look => self.look(),
            Happening::Nemesis => self.strike(),
            Happening::Ask => self.ask(),
            Happening::LeasesEnd => self.leases_end(),
            Happening::MachineStarts { machine } => self.start_machine(machine),
            Happening::MachineTicks { machine, life } => self.machine_ticks(machine, life),
            Happening::MachineEnds { machine, life } => self.machine_ends(machine, life),
            Happening::Asked { machine, life, ask } => self.asked(machine, life, ask),
            Happening::Answers { machine, life, answer } => self.answers(machine, life, answer),
            Happening::Invited { machine, life, epoch, state, from } => {
                self.invited(machine, life, epoch, state, from);
            }
            Happening::Taken { machine, epoch } => self.taken(machine, epoch),
            Happening::TermTimer { machine, term } => self.term_timer(machine, term),
            Happening::StoreIsSlow { machine, term, batch } => {
                self.store_is_slow(machine, term, batch);
            }
            Happening::Said { stream, said } => self.said(stream, said),
            Happening::EndSeenByServer { stream } => self.end_seen_by_server(stream),
            Happening::Told { stream, told } => self.told(stream, told),
            Happening::EndSeenByProcess { stream } => self.end_seen_by_process(stream),
            Happening::Dials { process, life } => self.dial(process, life),
            Happening::ProcessTimer { process, life, version } => {
                self.process_timer(process, life, version);
            }
            Happening::StartEnds { process, life, shard, token, well } => {
                self.start_ends(process, life, &shard, token, well);
            }
            Happening::StopEnds { process, life, shard, token } => {
                self.stop_ends(process, life, &shard, token);
            }
            Happening::PrepareEnds { process, life, preparation, well } => {
                self.prepare_ends(process, life, &preparation, well);
            }
            Happening::ProcessStarts { process } => self.start_process(process),
            Happening::GopherTicks { gopher, life } => self.gopher_ticks(gopher, life),
            Happening::Beat { server, gopher, life, call, beat } => {
                self.beat_arrives(server, gopher, life, call, &beat);
            }
            Happening::Answered { gopher, life, call, answer } => {
                self.answer_arrives(gopher, life, call, &answer);
            }
            Happening::CallEnds { gopher, life, call } => self.call_ends(gopher, life, call),
            Happening::GopherStarted { gopher, life, shard, token, well } => {
                self.gopher_started(gopher, life, &shard, token, well);
            }
            Happening::GopherLeaves { gopher, life } => self.gopher_says_leaving(gopher, life),
            Happening::GopherStarts { gopher } => self.start_gopher(gopher),
        }
    }

    /// Until when the one that this happens to is stopped.
    fn standing_still(&self, what: &Happening) -> Option<Time> {
        match what {
            Happening::MachineTicks { machine, .. }
            | Happening::MachineEnds { machine, .. }
            | Happening::Answers { machine, .. }
            | Happening::Invited { machine, .. }
            | Happening::Taken { machine, .. }
            | Happening::TermTimer { machine, .. }
            | Happening::StoreIsSlow { machine, .. } => Some(self.machines[*machine].still_until),
            Happening::Said { stream, .. } | Happening::EndSeenByServer { stream } => {
                self.still_behind(self.network.server_of(*stream))
            }
            Happening::Beat { server, .. } => self.still_behind(*server),
            Happening::Told { stream, .. } | Happening::EndSeenByProcess { stream } => {
                Some(self.processes[self.network.process_of(*stream)].still_until)
            }
            Happening::Dials { process, .. }
            | Happening::ProcessTimer { process, .. }
            | Happening::StartEnds { process, .. }
            | Happening::PrepareEnds { process, .. }
            | Happening::StopEnds { process, .. } => Some(self.processes[*process].still_until),
            Happening::GopherTicks { gopher, .. }
            | Happening::Answered { gopher, .. }
            | Happening::CallEnds { gopher, .. }
            | Happening::GopherStarted { gopher, .. }
            | Happening::GopherLeaves { gopher, .. } => Some(self.gophers[*gopher].still_until),
            _ => None,
        }
    }

    fn still_behind(&self, term: u32) -> Option<Time> {
        self.machine_of(term).map(|machine| self.machines[machine].still_until)
    }

    /// Everything goes wrong, and not only with the servers.
    pub(crate) fn is_wild(&self) -> bool {
        self.trouble && !self.traits.calm
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.tells {
            let millis = self.now.as_nanos() as f64 / 1e6;
            self.story.push(format!("{millis:>12.3}  {}", line()));
        }
    }

    /// The machine that the server is on, in milliseconds since 1970.
    pub(crate) fn wall_micros(&self) -> u64 {
        EPOCH_MS * 1_000 + self.now.as_nanos() / 1_000
    }
}

impl Traits {
    fn draw(chance: &mut Chance) -> Self {
        let shards = 3 + chance.below(14);
        let kind = match chance.percent(35) {
            true => Kind::Ephemeral,
            false => Kind::Fixed { shards: u32::try_from(shards).unwrap() },
        };
        let durable = chance.percent(70);
        Self {
            durable,
            calm: durable && chance.percent(20),
            kind,
            keys: (0..shards).map(|n| Arc::from(n.to_string())).collect(),
            hosts: (0..3).map(|n| Arc::from(format!("host-{n}"))).collect(),
            heartbeat_ttl: Duration::from_secs(chance.pick(&[4, 10])),
            patience: Duration::from_secs(chance.pick(&[1, 5])),
            keep: chance.percent(15),
        }
    }
}

fn record(chance: &mut Chance, traits: &Traits) -> NamespaceRecord {
    let settings = [
        ("load_balancing_mode", chance.pick(&["greedy", "greedy", "naive", "ring"]).to_owned()),
        ("load_balancing_greedy.per_shard_cooldown", "1s".to_owned()),
        ("load_balancing_greedy.load_smoothing_time_constant", "1s".to_owned()),
        ("load_balancing_greedy.move_budget_proportion", "0.5".to_owned()),
        ("heartbeat_ttl", format!("{}s", traits.heartbeat_ttl.as_secs())),
        ("crash_loop.enabled", chance.percent(50).to_string()),
        ("mass_failure.enabled", chance.percent(50).to_string()),
        ("restart_grace", chance.pick(&["0s", "2s", "5s"]).to_owned()),
        ("prepare_timeout", chance.pick(&["0s", "1s", "5s"]).to_owned()),
        ("lease_end", if traits.keep { "keep" } else { "stop" }.to_owned()),
    ];
    NamespaceRecord {
        name: NAMESPACE.into(),
        kind: traits.kind,
        settings: settings.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        // Where nothing but leaders is to change, nothing moves for balance.
        frozen: traits.calm,
    }
}

// The order of the queue: by time, then by when it was put in.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Entry {}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// Routes as a spectator has them.
pub(crate) type Routes = BTreeMap<Arc<str>, (Arc<str>, u64)>;
