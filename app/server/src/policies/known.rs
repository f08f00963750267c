//! One service: what its instances here must hold, who they are, what they see.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use plimsoll_qalm::policy_file;
use plimsoll_shedding::traffic::{Figures, Row, Window};
use plimsoll_store::PolicyRecord;
use plimsoll_wire::v1;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The newest policy of a service, as far as it is known here.
#[derive(Clone, Debug, Default)]
pub enum Held {
    /// It has not been read yet.
    #[default]
    Unread,
    /// It has none.
    Nothing,
    Policy {
        record: Arc<PolicyRecord>,
        /// Of its text.
        version: Arc<str>,
    },
}

impl Held {
    /// 0: there is none. `None`: nobody knows.
    pub fn revision(&self) -> Option<u64> {
        match self {
            Self::Unread => None,
            Self::Nothing => Some(0),
            Self::Policy { record, .. } => Some(record.head.revision),
        }
    }
}

/// An instance that is connected.
#[derive(Debug)]
pub(super) struct Instance {
    /// Tells this connection from an earlier one of the same instance.
    pub(super) number: u64,
    pub(super) version: String,
    /// The revision that holds there.
    pub(super) revision: u64,
    pub(super) refused: String,
    pub(super) heard_at_ms: u64,
    pub(super) queues: Vec<v1::QueueState>,
    /// Another connection has taken its place.
    pub(super) replaced: CancellationToken,
}

/// One service.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: Arc<str>,
    held: watch::Sender<Held>,
    pub(super) state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) instances: BTreeMap<Arc<str>, Instance>,
    connections: u64,
    pub(super) window: Window,
    /// The newest revision that an instance has refused: said once.
    refused: u64,
}

impl Known {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name, held: watch::Sender::default(), state: Mutex::default() }
    }

    // === the policy ===

    pub(super) fn follow(&self) -> watch::Receiver<Held> {
        self.held.subscribe()
    }

    /// As [`Held::revision`].
    pub(super) fn holds(&self) -> Option<u64> {
        self.held.borrow().revision()
    }

    /// What was read of the store. Of two readings the later may end first, so a lower
    /// revision is passed over.
    pub(super) fn hold(&self, record: Option<PolicyRecord>) {
        let held = match record {
            None => Held::Nothing,
            Some(record) => {
                let version = policy_file::version(&record.text).into();
                Held::Policy { record: Arc::new(record), version }
            }
        };
        self.held.send_if_modified(|before| {
            let is_news = before.revision() < held.revision();
            if is_news {
                *before = held;
            }
            is_news
        });
    }

    /// An instance knows of a newer one: what is held here may be old.
    pub(super) fn doubt(&self) {
        self.held.send_if_modified(|held| {
            *held = Held::Unread;
            false
        });
    }

    // === the instances ===

    /// Takes the place of an earlier connection of the same instance. Returns its
    /// number.
    pub(super) fn add(&self, id: &Arc<str>, mut instance: Instance) -> u64 {
        let mut state = self.state.lock();
        state.connections += 1;
        instance.number = state.connections;
        if let Some(earlier) = state.instances.insert(id.clone(), instance) {
            earlier.replaced.cancel();
        }
        state.connections
    }

    pub(super) fn remove(&self, id: &str, number: u64) {
        let instances = &mut self.state.lock().instances;
        if instances.get(id).is_some_and(|instance| instance.number == number) {
            instances.remove(id);
        }
    }

    /// Changes what is known of an instance, unless another connection is its by now.
    pub(super) fn update(&self, id: &str, number: u64, change: impl FnOnce(&mut Instance)) {
        let mut state = self.state.lock();
        if let Some(instance) = state.instances.get_mut(id).filter(|it| it.number == number) {
            change(instance);
        }
    }

    /// Whether nobody else has refused this revision or a newer one yet.
    pub(super) fn is_first_refusal(&self, revision: u64) -> bool {
        let refused = &mut self.state.lock().refused;
        let is_first = *refused < revision;
        *refused = (*refused).max(revision);
        is_first
    }

    // === what they see ===

    /// Adds what an instance saw, with that many bytes of room; by how many bytes more
    /// is kept now.
    pub(super) fn observe(&self, slice: u64, rows: BTreeMap<Row, Figures>, room: usize) -> isize {
        let state = &mut *self.state.lock();
        let before = state.window.bytes();
        let folded = state.window.observe(slice, rows, room);
        if folded > 0 {
            tracing::debug!(service = %self.name, rows = folded, "more endpoints and callers than are told apart");
        }
        let queues = state.instances.values().flat_map(|instance| &instance.queues);
        let sum =
            |of: fn(&v1::QueueState) -> u32| queues.clone().map(of).fold(0, u32::saturating_add);
        let (limit, in_flight) = (sum(|queue| queue.limit), sum(|queue| queue.in_flight));
        state.window.measure(slice, limit, in_flight);
        grown(before, state.window.bytes())
    }

    pub(super) fn expire(&self, slice: u64) -> isize {
        let window = &mut self.state.lock().window;
        let before = window.bytes();
        window.expire(slice);
        grown(before, window.bytes())
    }

    /// Nobody is connected or connects now, and nothing is remembered. `holders`: who
    /// has this service in hand, the list of all counted.
    pub(super) fn is_idle(&self, holders: usize) -> bool {
        let state = self.state.lock();
        holders == 1 && state.instances.is_empty() && state.window.traffic().slices.is_empty()
    }
}

fn grown(before: usize, after: usize) -> isize {
    after as isize - before as isize
}
