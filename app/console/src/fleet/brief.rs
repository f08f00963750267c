//! What only those ask for who look at one namespace: the plan of the next cycle
//! and the last events. All who look share one answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join;
use parking_lot::Mutex;
use plimsoll_wire::v1;

use crate::problem::Problem;
use crate::text::now_ms;
use crate::wire::Wire;

/// An answer serves for so long.
const FRESH_MS: u64 = 1500;
/// Events on the page of a namespace.
const EVENTS: u32 = 12;

/// A plan and the last events of one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Brief {
    pub(crate) plan: Result<v1::PlanBalanceResponse, Problem>,
    pub(crate) events: Result<Vec<v1::Event>, Problem>,
}

/// The last answers, by namespace.
#[derive(Debug, Default)]
pub(crate) struct Briefs {
    all: Mutex<BTreeMap<String, Arc<Slot>>>,
}

type Slot = tokio::sync::Mutex<Option<(u64, Arc<Brief>)>>;

impl Briefs {
    /// The plan and the events of a namespace that exists.
    pub(crate) async fn of(&self, wire: &Wire, namespace: &str) -> Arc<Brief> {
        let slot = self.all.lock().entry(namespace.to_owned()).or_default().clone();
        // Held while it is asked for: who comes meanwhile shares the answer.
        let mut slot = slot.lock().await;
        match &*slot {
            Some((at, brief)) if now_ms().saturating_sub(*at) < FRESH_MS => brief.clone(),
            _ => {
                let brief = Arc::new(Brief::ask(wire, namespace).await);
                *slot = Some((now_ms(), brief.clone()));
                brief
            }
        }
    }

    /// Forgets the answer about a namespace, which has just been changed.
    pub(crate) fn forget(&self, namespace: &str) {
        self.all.lock().remove(namespace);
    }
}

impl Brief {
    async fn ask(wire: &Wire, namespace: &str) -> Self {
        let request = v1::HistoryRequest {
            namespace: namespace.to_owned(),
            limit: EVENTS,
            ..Default::default()
        };
        let (plan, events) = join(wire.plan(namespace, ""), wire.history(request)).await;
        Self { plan, events }
    }
}
