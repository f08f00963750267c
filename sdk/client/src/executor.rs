//! A process that runs shards. The holder in `plimsoll-ownership` decides; this
//! connects it to a server, to a clock and to the application's code.

mod attempt;
mod builder;
mod contact;
mod doors;
mod driver;
mod identity;
mod instance;
mod loads;
mod preparing;
mod session;
mod shared;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_ownership::holder::{Finish, ShardPhase};
use tokio_util::task::AbortOnDropHandle;

pub use builder::ExecutorBuilder;
pub use contact::Contact;
use doors::Entered;
pub use doors::Serving;
use shared::{Counters, Shared};

use crate::{NotHere, Shard, Shards};

/// A running executor. Clones are handles of the same one.
///
/// Dropping the last handle ends it without a goodbye, as a crash would: no shard
/// is stopped, starts and stops under way are cancelled, and the server gives the
/// shards to others once the lease has run out. Call
/// [`shutdown`](Executor::shutdown) to be replaced at once.
#[derive(Clone, Debug)]
pub struct Executor {
    shared: Arc<Shared>,
    _driver: Arc<AbortOnDropHandle<()>>,
    ways_out: WaysOut,
}

/// How an executor goes, and how long that may take.
#[derive(Clone, Copy, Debug)]
struct WaysOut {
    leave: Duration,
    goodbye: Duration,
    returning: bool,
}

/// A shard runs here: the fencing token to use with what is done for it now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ownership {
    pub generation: u64,
}

/// Why an executor came to an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closed {
    /// It said goodbye.
    Goodbye,
    /// Another process started under the same executor id. Everything was stopped.
    Replaced,
}

/// How often something went wrong that stopped nothing, since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ExecutorStats {
    /// Beats without fresh loads, because `load` had not returned since the beat
    /// before.
    pub loads_late: u64,
    /// Loads not told because they were NaN, infinite or negative.
    pub loads_refused: u64,
    /// Leases that ended before a server was heard again.
    pub leases_ended: u64,
}

/// The executor's way out took too long. The server waits for the lease to run
/// out before it gives the rest to others.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LeaveError {
    #[error("{shards} shards were not taken by others in time")]
    ShardsRemain { shards: usize },
    #[error("the goodbye was not heard in time; {shards} shards had not stopped")]
    GoodbyeUnheard { shards: usize },
}

impl Executor {
    /// An executor of a namespace, to be configured and started.
    pub fn builder<S: Shards>(namespace: impl Into<String>, shards: S) -> ExecutorBuilder<S> {
        ExecutorBuilder::new(namespace.into(), shards)
    }

    /// Whether the shard runs here at this instant: `None` while it starts or
    /// stops, and from the end of the lease on even if nothing was stopped yet.
    /// Waits for nothing; ask anew for every piece of work.
    pub fn owns(&self, shard: &str) -> Option<Ownership> {
        let generation = self.shared.read(|holder, now| holder.may_run(now, shard))?;
        Some(Ownership { generation })
    }

    /// Takes up a request for a shard: as long as the answer is kept, the shard is
    /// not handed over, for at most the builder's `drain_within`. If the shard is
    /// about to run here, waits for it, for at most `hold_within`.
    ///
    /// # Errors
    /// The shard does not run here; the error says where it went, as far as that is
    /// known, and is what to answer.
    pub async fn serve(&self, shard: &str) -> Result<Serving, NotHere> {
        let entered = self.shared.doors.enter(self.shared.now(), shard).await?;
        self.serving(shard, entered)
    }

    /// The same without waiting for a shard that is about to run here.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn try_serve(&self, shard: &str) -> Result<Serving, NotHere> {
        let entered = self.shared.doors.try_enter(self.shared.now(), shard)?;
        self.serving(shard, entered)
    }

    /// A door may be open a moment longer than the lease lasts.
    fn serving(&self, shard: &str, entered: Entered) -> Result<Serving, NotHere> {
        match self.owns(shard) {
            Some(Ownership { generation }) => Ok(Serving::new(entered, generation)),
            None => Err(self.shared.doors.not_here(self.shared.now(), shard)),
        }
    }

    /// Whether a server is in touch and what became of the lease, to wait on.
    pub fn contact(&self) -> tokio::sync::watch::Receiver<Contact> {
        self.shared.contact()
    }

    /// Every shard that [`owns`](Self::owns) would answer for, in order of key.
    pub fn shards(&self) -> Vec<Shard> {
        self.shared.read(|holder, now| {
            let running = holder.shards().filter(|held| held.phase == ShardPhase::Running);
            let owned = running.filter(|held| holder.may_run(now, held.shard).is_some());
            owned.map(|held| Shard::new(Arc::clone(held.shard), held.generation)).collect()
        })
    }

    /// Tells the server that the work of an ephemeral shard is finished. It will
    /// be revoked, so `stop` follows. Nothing happens if it is not ours.
    pub fn done(&self, shard: &str) {
        self.shared.order(|holder, now| holder.done(now, shard));
    }

    /// Changes what spectators see of this executor, with the next beat.
    pub fn set_metadata(&self, key: impl Into<String>, value: impl Into<String>) {
        self.shared.set_metadata(key.into(), value.into());
    }

    /// The namespace whose shards it runs.
    pub fn namespace(&self) -> &str {
        &self.shared.identity.namespace
    }

    /// The id that the server and spectators know this executor by.
    pub fn id(&self) -> &str {
        &self.shared.identity.id
    }

    /// The machine that drains of this executor name.
    pub fn host(&self) -> &str {
        &self.shared.identity.host
    }

    /// Counts of what went wrong and stopped nothing.
    pub fn stats(&self) -> ExecutorStats {
        let Counters { loads_late, loads_refused, leases_ended } = &self.shared.counters;
        ExecutorStats {
            loads_late: loads_late.load(Ordering::Relaxed),
            loads_refused: loads_refused.load(Ordering::Relaxed),
            leases_ended: leases_ended.load(Ordering::Relaxed),
        }
    }

    /// Waits until a server has welcomed this executor. `start` returns without
    /// that when no server answers.
    pub async fn ready(&self) {
        self.shared.until(|progress| progress.welcomed).await;
    }

    /// Waits until it has come to an end.
    pub async fn closed(&self) -> Closed {
        let finish = self.shared.until(|progress| progress.finished.is_some()).await.finished;
        finish.map_or(Closed::Goodbye, Closed::from)
    }

    /// Asks the server to give the shards to others and waits until it has, for
    /// at most the builder's `leave_within`. It goes on serving what it has.
    ///
    /// # Errors
    /// `ShardsRemain` if the time was too short: nobody else may have room.
    pub async fn leave(&self) -> Result<(), LeaveError> {
        self.shared.order(|holder, now| holder.leave(now));
        let gone = self.shared.until(|progress| progress.held == 0 || progress.finished.is_some());
        match tokio::time::timeout(self.ways_out.leave, gone).await {
            Ok(_) => Ok(()),
            Err(_) => Err(LeaveError::ShardsRemain { shards: self.shared.progress().held }),
        }
    }

    /// Leaves, stops what is left and says goodbye, again and again if need be,
    /// for at most the builder's `leave_within` and `goodbye_within` together. An
    /// executor that is [`returning`](ExecutorBuilder::returning) stops its shards
    /// without giving them to others first.
    ///
    /// # Errors
    /// `GoodbyeUnheard` if no server confirmed the goodbye, or a `stop` took too
    /// long.
    pub async fn shutdown(&self) -> Result<(), LeaveError> {
        if self.ways_out.returning {
            self.shared.order(|holder, now| holder.goodbye_for_now(now));
        } else {
            if let Err(remaining) = self.leave().await {
                tracing::info!(%remaining, "stopping them");
            }
            self.shared.order(|holder, now| holder.goodbye(now));
        }
        match tokio::time::timeout(self.ways_out.goodbye, self.closed()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(LeaveError::GoodbyeUnheard { shards: self.shared.progress().held }),
        }
    }
}

impl From<Finish> for Closed {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::Goodbye => Self::Goodbye,
            Finish::Replaced => Self::Replaced,
        }
    }
}
