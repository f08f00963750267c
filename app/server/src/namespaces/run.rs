//! A driver from its start to its end, and who is told of the end.

use std::sync::Arc;

use super::Led;
use crate::driver::{Driver, End, NamespaceHandle};
use crate::election::Elector;
use crate::listing::{Listed, Listing};
use crate::metrics::Metrics;

/// A driver that runs.
pub(super) struct Run {
    pub(super) driver: Driver,
    pub(super) handle: Arc<NamespaceHandle>,
    pub(super) listed: Arc<Listed>,
}

/// Who is to know when a driver has ended.
pub(super) struct Ended {
    pub(super) led: Led,
    pub(super) listing: Arc<Listing>,
    pub(super) metrics: Metrics,
    pub(super) elector: Option<Arc<Elector>>,
}

impl Run {
    pub(super) async fn watch_over(self, tell: Ended) {
        let Self { driver, handle, listed } = self;
        let end = driver.run().await;
        tell.led.write().retain(|_, other| !Arc::ptr_eq(other, &handle));
        tell.metrics.of_namespace(&listed.name).forget();
        match &end {
            End::Closed | End::HandedOver => {}
            End::Lost(error) => {
                tracing::error!(namespace = %listed.name, %error, "namespace lost");
            }
            End::Silent => {
                tracing::warn!(namespace = %listed.name, "leadership ended: it is not confirmed any more");
            }
            End::Stuck => {
                tracing::error!(namespace = %listed.name, "leadership given up: changes could not be stored for 3 s, another server may have better luck");
            }
        }
        match (&tell.elector, end) {
            (None, _) => drop(tell.listing.remove(&listed.name)),
            (Some(elector), End::Stuck) => elector.stuck(&listed.name),
            (Some(elector), _) => elector.ended(&listed.name),
        }
    }
}
