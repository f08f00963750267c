//! The last refusals, for whoever asks why.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use plimsoll_shedding::verdict::Refusal;
use plimsoll_shedding::{Criticality, Time};

use crate::figures::LaneFigures;

/// Refusals that are kept.
const KEPT: usize = 50;

/// One request that was not admitted, or would not have been.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    pub(super) at: Time,
    /// Names the endpoint and the caller.
    pub(super) lane: Arc<LaneFigures>,
    pub(super) level: Criticality,
    pub(super) refusal: Refusal,
    /// It was admitted all the same.
    pub(super) dry_run: bool,
}

/// The last refusals, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    kept: Mutex<VecDeque<Recent>>,
}

impl Refusals {
    /// Notes one, unless somebody else is at it: a sample will do.
    pub(super) fn note(&self, refusal: Recent) {
        let Some(mut kept) = self.kept.try_lock() else { return };
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(refusal);
    }

    pub(super) fn all(&self) -> Vec<Recent> {
        self.kept.lock().iter().cloned().collect()
    }
}
