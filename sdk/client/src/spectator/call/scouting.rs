//! A lookup on behalf of a scout: one for all who want the same, in its turn, and
//! never repeated, for scouts come again by themselves.

use std::sync::Arc;

use plimsoll_placement::time::Time;

use crate::spectator::asking::{Answer, Asking};
use crate::{LookupError, Owner, Spectator};

impl Spectator {
    /// Asks a server, or joins those who do; `known` is what the map names.
    ///
    /// # Errors
    /// It is not its turn; when it is worth trying again.
    pub(super) fn scout_out(
        &self,
        shard: &Arc<str>,
        known: Option<&Owner>,
    ) -> Result<Asking, Time> {
        let (shared, known) = (Arc::clone(&self.shared), known.map(Owner::generation));
        let keep = move |key: &Arc<str>, answer: &Answer| {
            if is_of_use(answer, known) {
                shared.turns.was_of_use(shared.now());
            }
            if let Ok(owner) = answer {
                shared.remember(key, owner.clone());
            }
        };
        let take_turn = || self.shared.turns.take(self.shared.now(), self.shared.is_live());
        self.servers.ask_once(shard, take_turn, keep)
    }
}

/// Whether asking told more than the grant that was known.
fn is_of_use(answer: &Answer, known: Option<u64>) -> bool {
    match answer {
        Ok(owner) => known != Some(owner.generation()),
        Err(error) => !matches!(error, LookupError::Unavailable { .. }),
    }
}
