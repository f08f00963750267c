//! The right to run one handler, given back exactly once whatever happens.

use std::time::Duration;

use plimsoll_shedding::Time;
use plimsoll_shedding::verdict::{Outcome, Permit, Refusal};

use super::shared::{Held, Shared};

/// A handler may run as long as it holds this. Dropping it, by a panic or because
/// the client went away, gives it back as [`Outcome::Abandoned`].
#[derive(Debug)]
#[must_use = "a place that is dropped is given back as abandoned"]
pub struct Place {
    shared: &'static Shared,
    /// `None` only after it was given back.
    permit: Option<Permit>,
}

impl Place {
    #[inline]
    pub(super) fn new(shared: &'static Shared, permit: Permit) -> Self {
        Self { shared, permit: Some(permit) }
    }

    /// Gives the place back. Returns how long the handler had it.
    #[inline]
    pub fn finish(mut self, outcome: Outcome) -> Duration {
        self.give_back(outcome)
    }

    /// The handler runs for the first time: what has passed since the admission
    /// was the runtime's queue, and counts as queue wait. Only the first call
    /// counts; of a request that waited, it is known already.
    pub fn started(&mut self) {
        if let Some(permit) = &mut self.permit
            && !permit.is_started()
        {
            self.shared.tell(|shedder, now| shedder.started(now, permit));
        }
    }

    /// From arrival to admission.
    pub fn queue_wait(&self) -> Duration {
        self.permit.as_ref().map_or(Duration::ZERO, Permit::queue_wait)
    }

    /// In dry-run: how it would have been refused.
    pub fn would_refuse(&self) -> Option<Refusal> {
        self.permit.as_ref().and_then(Permit::would_refuse)
    }

    #[inline(always)]
    fn give_back(&mut self, outcome: Outcome) -> Duration {
        let Some(permit) = &self.permit else { return Duration::ZERO };
        let admitted_at = permit.admitted_at();
        let ended_at = match self.shared.complete_calmly(permit, outcome) {
            Ok(now) => now,
            Err(held) => self.give_back_watched(held, outcome),
        };
        self.permit = None;
        ended_at - admitted_at
    }

    /// Apart, so that what usually happens is small enough to be part of its caller.
    #[cold]
    #[inline(never)]
    fn abandon(&mut self) {
        self.give_back(Outcome::Abandoned);
    }

    #[inline(never)]
    fn give_back_watched(&mut self, held: Held<'_>, outcome: Outcome) -> Time {
        self.shared.tell_held(held, |shedder, now| {
            if let Some(permit) = self.permit.take() {
                shedder.complete_watched(now, &permit, outcome);
            }
            now
        })
    }
}

impl Drop for Place {
    #[inline]
    fn drop(&mut self) {
        if self.permit.is_some() {
            self.abandon();
        }
    }
}
