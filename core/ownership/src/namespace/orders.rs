//! Operators' orders: stored first, then followed, then answered.

use std::sync::Arc;

use plimsoll_placement::time::Time;

use super::Namespace;
use crate::action::Outcome;
use crate::event::What;
use crate::ids::RequestId;
use crate::journal::Consequence;
use crate::record::{DrainRecord, NamespaceRecord, Write};
use crate::settings::Settings;
use crate::shard::Phase;

/// What an operator wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Shards need not exist; those drained already keep their record.
    DrainShards {
        keys: Vec<Arc<str>>,
        drain: DrainRecord,
    },
    UndrainShards {
        keys: Vec<Arc<str>>,
    },
    /// Hosts need not be known; those drained already keep their record.
    DrainHosts {
        hosts: Vec<(Arc<str>, DrainRecord)>,
    },
    UndrainHosts {
        hosts: Vec<Arc<str>>,
    },
    Freeze(bool),
    ChangeSettings(Box<Settings>),
    /// Ends every drain and every grant: ephemeral shards vanish, fixed ones
    /// are placed anew once their owners have stopped.
    Reset,
}

/// What the record of the namespace says once every order so far is stored. One
/// record holds both, so that an order on its way must not be undone by the next.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) settings: Settings,
    pub(super) frozen: bool,
}

impl Namespace {
    /// Takes an order of which nobody says who gave it and why.
    pub fn order(&mut self, now: Time, request: RequestId, order: Order) {
        self.order_because(now, request, order, "");
    }

    /// Takes an order. The answer names what it changed. `why` is for the history: who
    /// gave it and why; of a drain its record says that.
    pub fn order_because(&mut self, _now: Time, request: RequestId, order: Order, why: &str) {
        let changed = match order {
            Order::DrainShards { keys, drain } => self.drain_shards(keys, &drain),
            Order::UndrainShards { keys } => self.undrain_shards(keys, why),
            Order::DrainHosts { hosts } => self.drain_hosts(hosts),
            Order::UndrainHosts { hosts } => self.undrain_hosts(hosts, why),
            Order::Freeze(frozen) => self.freeze(frozen, why),
            Order::ChangeSettings(settings) => self.change_settings(settings),
            Order::Reset => self.order_reset(),
        };
        self.journal.then(Consequence::Ordered { request, changed });
    }

    pub(super) fn ordered(&mut self, request: RequestId, changed: Vec<Arc<str>>) {
        self.answer(request, Outcome::Ordered { changed });
    }

    fn freeze(&mut self, frozen: bool, why: &str) -> Vec<Arc<str>> {
        self.ordered.frozen = frozen;
        self.journal.write(Write::Namespace(self.to_record()));
        self.journal.then(Consequence::Frozen { frozen, why: why.to_owned() });
        Vec::new()
    }

    pub(super) fn set_frozen(&mut self, now: Time, frozen: bool, why: String) {
        if self.frozen != frozen {
            self.frozen = frozen;
            if frozen {
                self.drop_preparations_for_balance();
            }
            self.note(now, if frozen { What::Frozen } else { What::Resumed }, why);
        }
    }

    fn change_settings(&mut self, settings: Box<Settings>) -> Vec<Arc<str>> {
        self.ordered.settings = (*settings).clone();
        self.journal.write(Write::Namespace(self.to_record()));
        self.journal.then(Consequence::Settings(settings));
        Vec::new()
    }

    pub(super) fn set_settings(&mut self, now: Time, settings: Settings) {
        let before = std::mem::replace(&mut self.settings, settings);
        let changed: Vec<_> = self
            .settings
            .entries()
            .into_iter()
            .zip(before.entries())
            .filter(|(new, old)| new != old)
            .map(|((name, value), _)| format!("{name}={value}"))
            .collect();
        let told = |it: &Settings| (it.lease, it.beat, it.lease_end);
        if told(&self.settings) != told(&before) {
            self.end_sessions();
        }
        // A shorter lease or period may be due sooner.
        self.next_expiry = self.next_expiry.min(now);
        self.next_cycle = self.next_cycle.min(now + self.settings.period);
        self.note(now, What::SettingsChanged, changed.join(", "));
    }

    fn to_record(&self) -> NamespaceRecord {
        let Ordered { settings, frozen } = &self.ordered;
        let text = |(name, value): (&str, String)| (name.to_owned(), value);
        NamespaceRecord {
            name: self.name.clone(),
            kind: self.kind,
            settings: settings.changed_entries().into_iter().map(text).collect(),
            frozen: *frozen,
        }
    }

    fn order_reset(&mut self) -> Vec<Arc<str>> {
        let shards: Vec<_> = self.drained_shards.keys().cloned().collect();
        let hosts: Vec<_> = self.drained_hosts.keys().cloned().collect();
        let granted = self.shards.iter().filter(|(_, shard)| shard.phase != Phase::Unowned);
        let mut changed: Vec<_> = granted.map(|(_, shard)| shard.key.clone()).collect();
        changed.extend(self.undrain_shards(shards, ""));
        changed.extend(self.undrain_hosts(hosts, ""));
        self.journal.then(Consequence::Reset);
        changed
    }
}
