//! What must hold, checked after every step.
//!
//! 1. No two executors have an instance of one shard at one instant. An instance
//!    does not count any more once the lease of its process has been over: its
//!    holder refuses every use of it, or, where leases are outlived, runs on beside
//!    another until a welcome says whose it is. An instance of a Go executor, which has no
//!    lease, is excused once its executor was silent for longer than its
//!    time-to-live, or was starting it when a server forgot everything; one that
//!    is stopping is not known to anybody.
//! 2. Every instance has a generation above all earlier ones of its shard.
//! 3. Nobody is told of a grant or an owner before it is stored.
//! 4. An acknowledged drain is never lost.
//! 5. Once nothing goes wrong any more, within a bound: every undrained shard of
//!    a fixed namespace runs, a drained one runs nowhere, a drained host carries
//!    nothing, nothing runs beside its owner, every question is answered.
//! 6. `Namespace::check` is empty, and what spectators were told is what is.
//! 7. Where nothing but leaders changes, no shard changes its owner.
//! 8. What an owner left comes to the next one only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Outcome, Tell};
use plimsoll_ownership::ids::SessionId;
use plimsoll_ownership::message::Grant;
use plimsoll_ownership::namespace::{Heartbeat, HeartbeatAnswer};
use plimsoll_ownership::record::Kind;
use plimsoll_placement::time::Time;

use crate::operator::{Asked, Drained};
use crate::term::Term;
use crate::world::{Happening, World};

#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) events: u64,
    checks: u64,
    starts: u64,
    answers: u64,
    slowest_answer: Duration,
    /// The highest generation of an instance so far.
    generations: BTreeMap<Arc<str>, u64>,
    /// Who had what before leaders began to change.
    first_owners: BTreeMap<Arc<str>, Arc<str>>,
    pub(crate) terms: u64,
    legacies: u64,
}

/// What was checked.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    seeds: u64,
    events: u64,
    checks: u64,
    starts: u64,
    answers: u64,
    terms: u64,
    legacies: u64,
    virtual_time: Duration,
    slowest_answer: Duration,
}

impl Oracle {
    /// An instance goes on under this generation.
    pub(crate) fn runs_under(&mut self, shard: &Arc<str>, generation: u64) {
        let highest = self.generations.entry(shard.clone()).or_default();
        *highest = generation.max(*highest);
    }

    pub(crate) fn verdict(&self, now: Time) -> Verdict {
        Verdict {
            seeds: 1,
            events: self.events,
            checks: self.checks,
            starts: self.starts,
            answers: self.answers,
            terms: self.terms,
            legacies: self.legacies,
            virtual_time: now - Time::ZERO,
            slowest_answer: self.slowest_answer,
        }
    }
}

impl Verdict {
    pub(crate) fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.checks += other.checks;
        self.starts += other.starts;
        self.answers += other.answers;
        self.terms += other.terms;
        self.legacies += other.legacies;
        self.virtual_time += other.virtual_time;
        self.slowest_answer = self.slowest_answer.max(other.slowest_answer);
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} seeds, {} events, {} checks, {} leaders, {} starts ({} with what the owner before left), {} lookups answered (slowest {:.1?}), {} virtual hours",
            self.seeds,
            self.events,
            self.checks,
            self.terms,
            self.starts,
            self.legacies,
            self.answers,
            self.slowest_answer,
            self.virtual_time.as_secs() / 3_600,
        )
    }
}

// === impl World: safety ===

impl World {
    pub(crate) fn look(&mut self) {
        for shard in self.traits.keys.clone() {
            self.check_alone(&shard);
        }
        self.check_drains();
        self.check_routes();
        self.check_calm();
        self.after(Duration::from_millis(100), Happening::Look);
    }

    /// A process begins to start a shard.
    pub(crate) fn check_start(&mut self, number: usize, shard: &Arc<str>, generation: u64) {
        self.oracle.starts += 1;
        let highest = self.oracle.generations.entry(shard.clone()).or_default();
        let before = std::mem::replace(highest, generation);
        assert!(
            generation > before,
            "{shard} starts under {generation} after it ran under {before}"
        );
        let others = self.instances_of(shard);
        let id = self.processes[number].id();
        assert!(others.is_empty(), "{id} starts {shard} while it is at {others:?}");
    }

    /// The applications leave the generation that they ran under: it is that of the
    /// last instance there was.
    pub(crate) fn check_legacy(&mut self, grant: &Grant) {
        let Some(state) = &grant.state else { return };
        self.oracle.legacies += 1;
        let left = u64::from_le_bytes(state.as_ref().try_into().unwrap());
        let last = self.oracle.generations.get(&grant.shard).copied();
        let (shard, generation) = (&grant.shard, grant.generation);
        assert_eq!(Some(left), last, "{shard}@{generation} gets what is not of its last owner");
    }

    /// A Go executor begins to start a shard. Returns whether it is excused.
    pub(crate) fn check_go_start(&mut self, number: usize, shard: &Arc<str>) -> bool {
        self.oracle.starts += 1;
        if self.is_too_silent(number) {
            return true;
        }
        let others = self.instances_of(shard);
        let id = &self.gophers[number].id;
        assert!(others.is_empty(), "{id} starts {shard} while it is at {others:?}");
        false
    }

    pub(crate) fn check_alone(&mut self, shard: &Arc<str>) {
        let at = self.instances_of(shard);
        assert!(at.len() < 2, "{shard} is at {at:?} at once");
    }

    /// Who has an instance that counts.
    fn instances_of(&mut self, shard: &Arc<str>) -> Vec<Arc<str>> {
        self.oracle.checks += 1;
        let now = self.now;
        let processes = self.processes.iter().filter(|process| {
            let instance = process.instances.get(shard);
            instance.is_some_and(|instance| !instance.fenced) && process.may_run(now)
        });
        let processes = processes.map(|process| process.id());
        let gophers = (0..self.gophers.len()).filter(|number| {
            let processor = self.gophers[*number].shards.get(shard);
            processor.is_some_and(|processor| !processor.excused) && !self.is_too_silent(*number)
        });
        processes.chain(gophers.map(|number| self.gophers[number].id.clone())).collect()
    }

    fn is_too_silent(&self, number: usize) -> bool {
        // By the clock of whichever server, which may be a little fast.
        let ttl = self.traits.heartbeat_ttl;
        self.now - self.gophers[number].heard >= ttl - ttl / 400
    }

    /// It was silent for so long that its shards may have been given away.
    pub(crate) fn excuse_the_silent(&mut self, number: usize) {
        if self.is_too_silent(number) {
            let gopher = &mut self.gophers[number];
            gopher.shards.values_mut().for_each(|processor| processor.excused = true);
        }
    }

    /// The store has forgotten what Go executors were granted, and they do not
    /// report what they are starting: nobody can know of it.
    pub(crate) fn excuse_the_starting(&mut self) {
        let processors = self.gophers.iter_mut().flat_map(|gopher| gopher.shards.values_mut());
        processors.filter(|processor| !processor.running).for_each(|processor| {
            processor.excused = true;
        });
    }

    pub(crate) fn check_tables(&mut self, number: usize) {
        self.oracle.checks += 1;
        let term = self.machines[number].term.as_ref();
        let wrong = term.map(|term| term.namespace.check());
        assert_eq!(wrong.unwrap_or_default(), Vec::<String>::new());
    }

    /// Before a message leaves: is what it says of grants stored?
    pub(crate) fn check_stored(&mut self, number: usize, session: SessionId, message: &Tell) {
        let Some(executor) = self.executor_in(number, session) else { return };
        // What that one tells was stored once: whether it does harm shows what runs.
        if self.was_replaced(number) {
            return;
        }
        let grants = match message {
            Tell::Granted(grant) => vec![grant.clone()],
            Tell::Welcome { grants, .. } => grants.clone(),
            _ => return,
        };
        for Grant { shard, generation, .. } in grants {
            self.oracle.checks += 1;
            let term = self.machines[number].term.as_ref();
            let claimed = term.is_some_and(|term| term.claimed.contains(&shard));
            let adopted = !self.traits.durable && claimed;
            let stored = self.etcd.records.grants.get(&shard);
            let stored = stored.map(|grant| (&grant.executor, grant.generation));
            assert!(
                stored == Some((&executor, generation)) || adopted,
                "{shard}@{generation} was told before it was stored"
            );
        }
    }

    pub(crate) fn check_answer(
        &mut self,
        number: usize,
        beat: &Heartbeat,
        answer: &HeartbeatAnswer,
    ) {
        if self.was_replaced(number) {
            return;
        }
        for shard in &answer.ready {
            self.oracle.checks += 1;
            let reported = beat.reports.iter().any(|report| report.shard == *shard);
            let stored = self.etcd.records.grants.get(shard).map(|grant| &grant.executor);
            let adopted = !self.traits.durable && reported;
            assert!(
                stored == Some(&beat.executor) || adopted,
                "{shard} was told before it was stored"
            );
        }
    }

    pub(crate) fn check_located(
        &mut self,
        number: usize,
        key: &Arc<str>,
        asked: Time,
        outcome: &Outcome,
    ) {
        self.oracle.answers += 1;
        self.oracle.slowest_answer = self.oracle.slowest_answer.max(self.now - asked);
        if let Outcome::Owner { executor, generation, .. } = outcome
            && self.traits.durable
            && !self.was_replaced(number)
        {
            let stored = self.etcd.records.grants.get(key);
            let stored = stored.map(|grant| (&grant.executor, grant.generation));
            assert_eq!(stored, Some((executor, *generation)), "{key}: an owner who is not stored");
        }
    }

    fn check_drains(&mut self) {
        let Some(namespace) = self.acting().and_then(|it| self.machines[it].term.as_ref()) else {
            return;
        };
        let namespace = &namespace.namespace;
        let drained =
            |(name, state): (&Arc<str>, &Drained)| (*state == Drained::Yes).then(|| name.clone());
        for key in self.operator.shards.iter().filter_map(drained) {
            self.oracle.checks += 1;
            assert!(namespace.drained_shards().contains_key(&key), "the drain of {key} is lost");
        }
        for host in self.operator.hosts.iter().filter_map(drained) {
            self.oracle.checks += 1;
            assert!(namespace.drained_hosts().contains_key(&host), "the drain of {host} is lost");
        }
        let kept =
            |(name, state): (&Arc<str>, &Drained)| (*state == Drained::No).then(|| name.clone());
        for host in self.operator.hosts.iter().filter_map(kept) {
            assert!(!namespace.drained_hosts().contains_key(&host), "{host} is drained again");
        }
    }

    /// What spectators were told against what is. A shard on its way from one
    /// owner to the next is still known at the one it left.
    fn check_routes(&mut self) {
        for (number, machine) in self.machines.iter().enumerate() {
            let Some(Term { namespace, routes, .. }) = &machine.term else { continue };
            let mut true_routes = BTreeSet::new();
            for (shard, executor, generation) in namespace.routes() {
                let told = routes.get(shard);
                assert_eq!(told, Some(&(executor.clone(), generation)), "the route of {shard}");
                true_routes.insert(shard.clone());
            }
            for shard in routes.keys().filter(|shard| !true_routes.contains(*shard)) {
                let phase = namespace.explain(self.local(number), shard).map(|told| told.phase);
                assert_eq!(phase, Some("granting"), "spectators think that {shard} is somewhere");
            }
            self.oracle.checks += 1;
        }
    }

    /// Where nothing but leaders changes, no shard does.
    fn check_calm(&mut self) {
        if !self.traits.calm {
            return;
        }
        let owners = self.etcd.records.grants.iter();
        let owners: BTreeMap<_, _> =
            owners.map(|(k, grant)| (k.clone(), grant.executor.clone())).collect();
        if !self.trouble_began {
            return self.oracle.first_owners = owners;
        }
        for (shard, owner) in &self.oracle.first_owners {
            self.oracle.checks += 1;
            let now = owners.get(shard);
            assert_eq!(now, Some(owner), "{shard} moved though only leaders changed");
        }
    }
}

// === impl World: liveness ===

impl World {
    /// What is not yet as it should be once nothing goes wrong.
    pub(crate) fn disorder(&mut self) -> Option<String> {
        self.open_a_host();
        let Some(leader) = self.acting() else { return Some("nobody leads".to_owned()) };
        let local = self.local(leader);
        let namespace = self.namespace()?;
        for (number, process) in self.processes.iter().enumerate() {
            if process.holder.as_ref().is_none_or(|holder| !holder.is_welcome()) {
                return Some(format!("process {number} is not welcome"));
            }
        }
        let drained = namespace.drained_shards();
        for key in &self.traits.keys {
            let runners = self.runners_of(key);
            let owner = namespace.explain(local, key).and_then(|told| told.owner);
            let fixed = matches!(self.traits.kind, Kind::Fixed { .. });
            match (drained.contains_key(key), runners.as_slice()) {
                (true, []) => {}
                (true, _) => return Some(format!("{key} is drained and at {runners:?}")),
                (false, []) if !fixed && owner.is_none() => {}
                (false, [one]) if Some(one) == owner.as_ref() => {}
                (false, _) => return Some(format!("{key} of {owner:?} is at {runners:?}")),
            }
        }
        self.drained_host_that_carries().or_else(|| self.overdue_question())
    }

    fn drained_host_that_carries(&self) -> Option<String> {
        let namespace = self.namespace()?;
        let hosts = namespace.drained_hosts().keys();
        let waits = hosts.filter_map(|host| Some((host, namespace.drain_waits_for(host)?)));
        waits.map(|(host, why)| format!("the drained {host} is not empty: {why}")).next()
    }

    fn overdue_question(&self) -> Option<String> {
        let old = Duration::from_secs(1);
        let term = self.machines[self.acting()?].term.as_ref()?;
        let asked = term.asked.values().find(|asked| match asked {
            Asked::Locate { at, .. } => self.now - *at > old,
            _ => false,
        });
        asked.map(|asked| format!("{asked:?} is not answered"))
    }

    /// Who has the shard in any state, excused or not.
    fn runners_of(&self, shard: &Arc<str>) -> Vec<Arc<str>> {
        let local = |time, process: &crate::process::Process| process.clock.at(time);
        let mut all = Vec::new();
        for process in self.processes.iter().filter(|p| p.instances.contains_key(shard)) {
            let now = local(self.now, process);
            let runs = process.holder.as_ref().and_then(|holder| holder.may_run(now, shard));
            let stopping = process.instances[shard].stopping;
            all.push(match runs {
                Some(_) => process.id(),
                None => Arc::from(format!("{} (stopping: {stopping})", process.id())),
            });
        }
        for gopher in self.gophers.iter().filter(|g| g.shards.contains_key(shard)) {
            all.push(match gopher.shards[shard].running {
                true => gopher.id.clone(),
                false => Arc::from(format!("{} (starting)", gopher.id)),
            });
        }
        all
    }
}
