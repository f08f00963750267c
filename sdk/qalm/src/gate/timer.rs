//! One task that calls the shedder when something is due, started by the first
//! request that has to wait.

use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use super::Life;
use super::shared::Shared;
use crate::background::Background;

#[derive(Debug, Default)]
pub(super) struct Timer {
    task: Background,
    earlier: Arc<Notify>,
}

impl Timer {
    /// Has the task run as long as the gate lives. Without a runtime nothing is
    /// timed: verdicts then come only with other requests.
    pub(super) fn ensure(&self, shared: &'static Shared, life: &Arc<Life>) {
        self.task.ensure(|| run(shared, Arc::downgrade(life), Arc::clone(&self.earlier)));
    }

    /// Something is due earlier than the task expects.
    pub(super) fn nudge(&self) {
        self.earlier.notify_one();
    }
}

async fn run(shared: &'static Shared, life: Weak<Life>, earlier: Arc<Notify>) {
    while life.strong_count() > 0 {
        match shared.time_out().map(|due| shared.clock().until(due)) {
            None => earlier.notified().await,
            Some(span) => {
                // Late, nudged or on time: all that is due is done above.
                let _ = tokio::time::timeout(span, earlier.notified()).await;
            }
        }
    }
}
