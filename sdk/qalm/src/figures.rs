//! What is counted, in plain atomics: a request touches them by handles that its
//! lane holds, and whoever publishes them reads them all.

mod histogram;
mod lane;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;

#[cfg(any(feature = "policy-sync", feature = "prometheus"))]
pub(crate) use histogram::BOUNDS;
pub(crate) use histogram::Histogram;
pub(crate) use lane::{Event, LaneFigures};

#[cfg(feature = "metrics")]
use crate::layer::FacadeHistograms;

/// What is measured of one endpoint.
#[derive(Debug)]
pub(crate) struct EndpointFigures {
    pub(crate) name: Arc<str>,
    pub(crate) queue_wait: Histogram,
    pub(crate) handling: Histogram,
    #[cfg(feature = "metrics")]
    facade: FacadeHistograms,
    /// Requests that were not looked at.
    pub(crate) bypassed: AtomicU64,
    /// Requests whose client went away while they waited.
    pub(crate) left: AtomicU64,
}

impl EndpointFigures {
    pub(crate) fn waited(&self, span: Duration) {
        self.queue_wait.record(span);
        #[cfg(feature = "metrics")]
        self.facade.queue_wait(&self.name, span);
    }

    pub(crate) fn handled(&self, span: Duration) {
        self.handling.record(span);
        #[cfg(feature = "metrics")]
        self.facade.handling(&self.name, span);
    }
}

/// By endpoint and caller's label.
type Lanes = BTreeMap<(Arc<str>, Arc<str>), Arc<LaneFigures>>;

/// Everything that is counted in one service. Nothing is ever removed: endpoints
/// and labels are bounded where they are named.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    endpoints: Mutex<BTreeMap<Arc<str>, Arc<EndpointFigures>>>,
    lanes: Mutex<Lanes>,
}

impl Figures {
    pub(crate) fn endpoint(&self, name: &Arc<str>) -> Arc<EndpointFigures> {
        let mut endpoints = self.endpoints.lock();
        let new = || {
            Arc::new(EndpointFigures {
                name: Arc::clone(name),
                queue_wait: Histogram::default(),
                handling: Histogram::default(),
                #[cfg(feature = "metrics")]
                facade: FacadeHistograms::default(),
                bypassed: AtomicU64::new(0),
                left: AtomicU64::new(0),
            })
        };
        Arc::clone(endpoints.entry(Arc::clone(name)).or_insert_with(new))
    }

    pub(crate) fn lane(&self, endpoint: &Arc<str>, caller: &Arc<str>) -> Arc<LaneFigures> {
        let key = (Arc::clone(endpoint), Arc::clone(caller));
        let new = || Arc::new(LaneFigures::new(Arc::clone(endpoint), Arc::clone(caller)));
        Arc::clone(self.lanes.lock().entry(key).or_insert_with(new))
    }

    /// Every endpoint's, by name.
    pub(crate) fn endpoints(&self) -> Vec<Arc<EndpointFigures>> {
        self.endpoints.lock().values().cloned().collect()
    }

    /// Every lane's, by endpoint, then caller.
    pub(crate) fn lanes(&self) -> Vec<Arc<LaneFigures>> {
        self.lanes.lock().values().cloned().collect()
    }
}
