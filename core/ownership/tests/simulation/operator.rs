//! Those who ask and order: clients that look for owners, and operators. What an
//! operator was told is done is remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_ownership::action::Outcome;
use plimsoll_ownership::namespace::Order;
use plimsoll_ownership::record::{DrainRecord, Kind};
use plimsoll_ownership::settings::Settings;
use plimsoll_placement::time::Time;

use crate::world::{Happening, World};

#[derive(Debug, Default)]
pub(crate) struct Operator {
    /// What is certain of a drain: acknowledged, and nothing ordered since.
    pub(crate) shards: BTreeMap<Arc<str>, Drained>,
    pub(crate) hosts: BTreeMap<Arc<str>, Drained>,
    /// One order at a time, so that the order of orders is known.
    busy: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Drained {
    Yes,
    No,
    /// An order is on its way, or was when the server died.
    Unknown,
}

/// What waits for its answer.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Locate { key: Arc<str>, at: Time },
    Shard { key: Arc<str>, drained: Drained },
    Host { host: Arc<str>, drained: Drained },
    Reset,
    Other,
}

impl Operator {
    pub(crate) fn server_crashed(&mut self) {
        self.busy = false;
    }

    fn forget(&mut self) {
        let all = self.shards.values_mut().chain(self.hosts.values_mut());
        all.for_each(|drained| *drained = Drained::Unknown);
    }
}

impl World {
    /// Somebody looks for an owner, every now and then somebody is done.
    pub(crate) fn ask(&mut self) {
        let key = self.draw_key();
        self.locate(&key);
        if self.trouble
            && !self.traits.calm
            && self.traits.kind == Kind::Ephemeral
            && self.chance.percent(40)
        {
            self.finish_something();
        }
        let wait = self.chance.millis(20, 800);
        self.after(wait, Happening::Ask);
    }

    fn locate(&mut self, key: &Arc<str>) {
        let Some(leader) = self.leader_awake() else { return };
        let asked = Asked::Locate { key: key.clone(), at: self.now };
        self.question(leader, asked, |namespace, now, request| namespace.locate(now, request, key));
    }

    fn finish_something(&mut self) {
        let key = self.draw_key();
        for number in 0..self.processes.len() {
            if self.processes[number].instances.contains_key(&key)
                && self.processes[number].still_until <= self.now
            {
                self.tell(|| format!("process {number} is done with {key}"));
                return self.with_holder(number, |holder, now| holder.done(now, &key));
            }
        }
        for gopher in &mut self.gophers {
            if let Some(processor) = gopher.shards.get_mut(&key) {
                processor.done = true;
            }
        }
    }

    fn draw_key(&mut self) -> Arc<str> {
        let keys = self.traits.keys.clone();
        keys[self.chance.index(keys.len())].clone()
    }

    pub(crate) fn order_something(&mut self) {
        let (key, host) = (self.draw_key(), self.draw_host());
        match self.chance.below(20) {
            0..5 => self.order_shard(key, Drained::Yes),
            5..9 => self.order_shard(key, Drained::No),
            9..12 => self.order_host(host, Drained::Yes),
            12..15 => self.order_host(host, Drained::No),
            15 => self.order(Order::Reset, Asked::Reset),
            16 => self.order(Order::Freeze(true), Asked::Other),
            17 => self.order(Order::Freeze(false), Asked::Other),
            _ => self.order_settings(),
        }
    }

    fn draw_host(&mut self) -> Arc<str> {
        let hosts = self.traits.hosts.clone();
        hosts[self.chance.index(hosts.len())].clone()
    }

    fn order_shard(&mut self, key: Arc<str>, drained: Drained) {
        let keys = vec![key.clone()];
        let order = match drained {
            Drained::Yes => Order::DrainShards { keys, drain: DrainRecord::default() },
            _ => Order::UndrainShards { keys },
        };
        self.order(order, Asked::Shard { key, drained });
    }

    pub(crate) fn order_host(&mut self, host: Arc<str>, drained: Drained) {
        let order = match drained {
            Drained::Yes => {
                Order::DrainHosts { hosts: vec![(host.clone(), DrainRecord::default())] }
            }
            _ => Order::UndrainHosts { hosts: vec![host.clone()] },
        };
        self.order(order, Asked::Host { host, drained });
    }

    /// The lease never exceeds the time-to-live of heartbeats, which is what a
    /// server that starts waits for.
    fn order_settings(&mut self) {
        let (lease, beat) = self.chance.pick(&[("1s", "250ms"), ("2s", "500ms"), ("4s", "1s")]);
        let Some(namespace) = self.namespace() else { return };
        let mut settings: Settings = namespace.settings().clone();
        settings.set_all([("lease", lease), ("beat", beat)]).unwrap();
        self.order(Order::ChangeSettings(Box::new(settings)), Asked::Other);
    }

    fn order(&mut self, order: Order, asked: Asked) {
        let Some(leader) = self.leader_awake().filter(|_| !self.operator.busy) else { return };
        self.tell(|| format!("order: {order:?}"));
        match &asked {
            Asked::Shard { key, .. } => {
                self.operator.shards.insert(key.clone(), Drained::Unknown);
            }
            Asked::Host { host, .. } => {
                self.operator.hosts.insert(host.clone(), Drained::Unknown);
            }
            Asked::Reset => self.operator.forget(),
            Asked::Locate { .. } | Asked::Other => {}
        }
        self.operator.busy = true;
        self.question(leader, asked, |namespace, now, request| {
            namespace.order(now, request, order)
        });
    }

    fn leader_awake(&self) -> Option<usize> {
        self.acting().filter(|number| self.machines[*number].still_until <= self.now)
    }

    pub(crate) fn settle_answer(&mut self, number: usize, asked: Asked, outcome: &Outcome) {
        match asked {
            Asked::Locate { key, at } => return self.check_located(number, &key, at, outcome),
            Asked::Shard { key, drained } => drop(self.operator.shards.insert(key, drained)),
            Asked::Host { host, drained } => drop(self.operator.hosts.insert(host, drained)),
            Asked::Reset => {
                let operator = &mut self.operator;
                let all = operator.shards.values_mut().chain(operator.hosts.values_mut());
                all.for_each(|drained| *drained = Drained::No);
            }
            Asked::Other => {}
        }
        self.operator.busy = false;
    }

    /// A server that forgets has forgotten the drains.
    pub(crate) fn forget_drains(&mut self) {
        self.operator.shards.clear();
        self.operator.hosts.clear();
    }
}
