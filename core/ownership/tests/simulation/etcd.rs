//! The store that all servers share, and the election in it: one lease a server,
//! one key for the leadership, one epoch that every change compares. A message to
//! it or from it may be late, lost or made twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::handover::HandoverState;
use plimsoll_ownership::leadership::{Led, Seen};
use plimsoll_ownership::record::{Stored, Write};
use plimsoll_placement::time::Time;

use crate::store::Store;
use crate::world::{Happening, NAMESPACE, World};

/// What a server's lease is granted for.
const TTL: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Etcd {
    pub(crate) records: Store,
    pub(crate) epoch: u64,
    /// How many batches this epoch has stored.
    batches: u64,
    leases: BTreeMap<u64, Lease>,
    last_lease: u64,
    leader: Option<Leader>,
}

#[derive(Debug)]
struct Lease {
    server: Arc<str>,
    place: Arc<str>,
    until: Time,
}

#[derive(Debug)]
struct Leader {
    server: Arc<str>,
    epoch: u64,
    lease: u64,
}

/// What a server asks. Times are its own.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Join,
    Keep {
        lease: u64,
        sent: Time,
    },
    Look {
        sent: Time,
    },
    Run {
        attempt: u64,
        lease: u64,
        replacing: Option<u64>,
        sent: Time,
    },
    /// The leadership of that epoch is handed over with its state.
    Succeed {
        attempt: u64,
        lease: u64,
        replacing: u64,
        sent: Time,
        state: Box<HandoverState>,
    },
    Commit {
        epoch: u64,
        number: u64,
        batch: Vec<Write>,
    },
    Resign {
        epoch: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Joined {
        lease: u64,
    },
    Kept {
        sent: Time,
    },
    LeaseLost {
        lease: u64,
    },
    Looked {
        sent: Time,
        seen: Seen,
    },
    Won {
        attempt: u64,
        won: Box<Won>,
    },
    NotWon {
        attempt: u64,
    },
    Committed {
        epoch: u64,
        number: u64,
    },
    /// Another leader has been elected.
    Refused {
        epoch: u64,
        number: u64,
    },
}

/// A leadership, and what to begin it with.
#[derive(Clone, Debug)]
pub(crate) struct Won {
    pub(crate) epoch: u64,
    pub(crate) sent: Time,
    pub(crate) stored: Stored,
    pub(crate) state: Option<HandoverState>,
}

impl Etcd {
    pub(crate) fn new(records: Store) -> Self {
        Self { records, epoch: 0, batches: 0, leases: BTreeMap::new(), last_lease: 0, leader: None }
    }

    /// Leases are looked at now and then, so that they end late but never early.
    pub(crate) fn expire(&mut self, now: Time) {
        self.leases.retain(|_, lease| now < lease.until);
        let leases = &self.leases;
        self.leader.take_if(|leader| !leases.contains_key(&leader.lease));
    }

    /// Of its own process and place.
    fn answer(
        &mut self,
        now: Time,
        server: &Arc<str>,
        place: &Arc<str>,
        ask: Ask,
    ) -> Option<Answer> {
        Some(match ask {
            Ask::Join => {
                self.last_lease += 1;
                let (server, place) = (server.clone(), place.clone());
                self.leases.insert(self.last_lease, Lease { server, place, until: now + TTL });
                Answer::Joined { lease: self.last_lease }
            }
            Ask::Keep { lease, sent } => match self.leases.get_mut(&lease) {
                Some(it) => {
                    it.until = now + TTL;
                    Answer::Kept { sent }
                }
                None => Answer::LeaseLost { lease },
            },
            Ask::Look { sent } => Answer::Looked { sent, seen: self.look() },
            Ask::Run { attempt, lease, replacing, sent } => {
                self.elect(server, attempt, lease, replacing, sent, None)
            }
            Ask::Succeed { attempt, lease, replacing, sent, state } => {
                self.elect(server, attempt, lease, Some(replacing), sent, Some(*state))
            }
            Ask::Commit { epoch, number, batch } => self.commit(epoch, number, &batch),
            Ask::Resign { epoch } => {
                self.leader.take_if(|leader| leader.epoch == epoch);
                return None;
            }
        })
    }

    fn look(&self) -> Seen {
        let servers = self.leases.values().map(|it| (it.server.clone(), it.place.clone()));
        let led = self.leader.as_ref().map(|leader| {
            let led = Led { server: leader.server.clone(), epoch: leader.epoch };
            (Arc::from(NAMESPACE), led)
        });
        Seen { servers: servers.collect(), leaders: led.into_iter().collect() }
    }

    fn elect(
        &mut self,
        server: &Arc<str>,
        attempt: u64,
        lease: u64,
        replacing: Option<u64>,
        sent: Time,
        state: Option<HandoverState>,
    ) -> Answer {
        let present = self.leader.as_ref().map(|leader| leader.epoch);
        if present != replacing || !self.leases.contains_key(&lease) {
            return Answer::NotWon { attempt };
        }
        self.epoch += 1;
        self.batches = 0;
        let epoch = self.epoch;
        self.leader = Some(Leader { server: server.clone(), epoch, lease });
        let won = Won { epoch, sent, stored: self.records.stored(), state };
        Answer::Won { attempt, won: Box::new(won) }
    }

    /// In order, once, and by the leader that was elected last.
    fn commit(&mut self, epoch: u64, number: u64, batch: &[Write]) -> Answer {
        let again = number == self.batches;
        if epoch != self.epoch || !(again || number == self.batches + 1) {
            return Answer::Refused { epoch, number };
        }
        if !again {
            self.records.apply(batch);
            self.batches = number;
        }
        Answer::Committed { epoch, number }
    }
}

// === impl World: on the way ===

impl World {
    /// Asks the store. The answer comes late, or never.
    pub(crate) fn ask_store(&mut self, machine: usize, ask: Ask) {
        let wait = self.delay_to_store(machine);
        let life = self.machines[machine].life;
        if self.chance.percent(if self.store_fails() { 1 } else { 0 }) {
            let twice = wait + self.chance.millis(1, 3_000);
            let again = ask.clone();
            self.after(twice, Happening::Asked { machine, life, ask: again });
        }
        if !self.is_lost() {
            self.after(wait, Happening::Asked { machine, life, ask });
        }
    }

    pub(crate) fn asked(&mut self, machine: usize, life: u32, ask: Ask) {
        let (server, place) = (self.machines[machine].id_of(life), self.machines[machine].place());
        let now = self.now;
        let Some(answer) = self.etcd.answer(now, &server, &place, ask) else { return };
        let wait = self.delay_to_store(machine);
        if !self.is_lost() {
            self.after(wait, Happening::Answers { machine, life, answer });
        }
    }

    pub(crate) fn leases_end(&mut self) {
        self.etcd.expire(self.now);
        let wait = self.chance.millis(50, 500);
        self.after(wait, Happening::LeasesEnd);
    }

    fn delay_to_store(&mut self, machine: usize) -> Duration {
        let wait = match self.chance.below(100) {
            0..2 if self.store_fails() => self.chance.millis(100, 2_000),
            0..50 => self.chance.micros(100, 1_000),
            _ => self.chance.micros(1_000, 8_000),
        };
        let now = self.now;
        let stall = self.store_stalls_until.max(self.machines[machine].cut_until);
        (stall.max(now) - now) + wait
    }

    fn is_lost(&mut self) -> bool {
        self.store_fails() && self.chance.percent(2)
    }

    /// A store that forgets is part of its server.
    fn store_fails(&self) -> bool {
        self.trouble && self.traits.durable
    }
}
