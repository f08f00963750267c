//! Why a request was not carried out by an owner of its shard.

use std::sync::Arc;
use std::time::Duration;

use crate::LookupError;

/// Why [`Spectator::call`](crate::Spectator::call) has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError<E> {
    /// The owner answered with an error of its own, or broke off.
    #[error("{0}")]
    Failed(E),
    /// There is nobody to send it to, and waiting does not help.
    #[error(transparent)]
    Lookup(LookupError),
    /// Nothing was done. Try again later; `smctl shard explain` says what the shard
    /// waits for.
    #[error("nobody took the request for shard {shard:?} in {waited:?}, {tries} tries: try again")]
    GaveUp {
        shard: Arc<str>,
        waited: Duration,
        tries: u32,
        /// What was answered last.
        last: Option<E>,
    },
    /// Nothing was done: as many requests as `hold_at_most` allows are held.
    #[error("shard {shard:?} is in handover and {held} requests are held already: shed load")]
    Full { shard: Arc<str>, held: usize },
}

/// The same for answers of any kind.
#[derive(Debug)]
pub(crate) enum Undelivered<R> {
    Lookup(LookupError),
    GaveUp { shard: Arc<str>, waited: Duration, tries: u32, last: Option<R> },
    Full { shard: Arc<str>, held: usize },
}

impl<T, E> From<Undelivered<Result<T, E>>> for CallError<E> {
    fn from(undelivered: Undelivered<Result<T, E>>) -> Self {
        match undelivered {
            Undelivered::Lookup(error) => Self::Lookup(error),
            Undelivered::GaveUp { shard, waited, tries, last } => {
                Self::GaveUp { shard, waited, tries, last: last.and_then(Result::err) }
            }
            Undelivered::Full { shard, held } => Self::Full { shard, held },
        }
    }
}
