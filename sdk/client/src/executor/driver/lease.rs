//! What the end of the lease means beside the stops that the holder orders.

use super::Driver;
use crate::Shards;
use crate::executor::contact::Contact;
use crate::executor::shared::Counters;

impl<S: Shards> Driver<S> {
    /// Whoever still serves a request for a shard that is to be handed over has no
    /// right to once the lease is over.
    pub(super) fn mind_the_lease(&mut self) {
        let over = self.shared.read(|holder, _| holder.lease_end()).is_none();
        if !std::mem::replace(&mut self.lease_over, over) && over {
            let leaving = self.instances.values().filter(|running| running.stop.is_none());
            leaving.for_each(|running| running.door.evict());
            self.lease_ended();
        }
    }

    fn lease_ended(&self) {
        Counters::count(&self.shared.counters.leases_ended);
        let (namespace, executor) = self.shared.identity.names();
        if *self.shared.contact().borrow() != Contact::LeaseOutlived {
            self.shared.meet(Contact::LeaseEnded);
            let shards = self.instances.len();
            tracing::error!(namespace, executor, shards, "the lease ended: all shards stop");
        }
    }

    pub(super) fn lease_outlived(&self) {
        self.shared.meet(Contact::LeaseOutlived);
        let (namespace, executor) = self.shared.identity.names();
        tracing::error!(
            namespace,
            executor,
            "the lease ended and lease_end is keep: the shards run on, perhaps elsewhere too"
        );
    }
}
