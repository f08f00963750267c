//! What an application brings: how a shard starts, stops and is measured.

use std::sync::Arc;

use plimsoll_ownership::message::Grant;

use crate::BoxError;

/// A shard that was granted to this process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shard {
    pub(crate) key: Arc<str>,
    pub(crate) generation: u64,
    pub(crate) state: Option<Arc<[u8]>>,
    pub(crate) previous: Option<Arc<str>>,
}

impl Shard {
    pub(crate) fn new(key: Arc<str>, generation: u64) -> Self {
        Self { key, generation, state: None, previous: None }
    }

    /// Its name: "0" to "n - 1" in a fixed namespace, anything in an ephemeral one.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The fencing token of its start: greater than that of every owner before.
    /// Storage that refuses writes with a smaller one than it has seen is safe
    /// from owners of the past. It may grow while the shard runs: the one of this
    /// instant is [`Executor::owns`](crate::Executor::owns)'s.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// At its start: what [`hand_over`](Shards::hand_over) of the owner before
    /// returned, and never anything older. `None` also where there should be some:
    /// it is kept in memory only. It is lost with either owner, with a server that
    /// dies, with the connection of this executor while the grant is under way, and
    /// with a start that fails.
    pub fn state(&self) -> Option<&[u8]> {
        self.state.as_deref()
    }

    /// At its start: the executor id of the owner before, if the shard comes
    /// straight from it.
    pub fn previous_owner(&self) -> Option<&str> {
        self.previous.as_deref()
    }
}

impl From<Grant> for Shard {
    fn from(grant: Grant) -> Self {
        let Grant { shard, generation, state, previous } = grant;
        Self { key: shard, generation, state, previous }
    }
}

/// The application's side of an executor.
///
/// Of one shard, never two of these run at the same time: a start that is
/// overtaken by a revocation is waited for before `stop` is called, and a shard
/// that comes back while `stop` runs is started after it. They may take as long
/// as they need; neither delays a heartbeat, but while they run nobody else can
/// have the shard. A panic in `start` counts as its error, in `stop` as its end.
///
/// ```
/// use plimsoll_client::{BoxError, Shard, Shards};
///
/// struct Feeds;
///
/// impl Shards for Feeds {
///     async fn start(&self, shard: Shard) -> Result<(), BoxError> {
///         println!("{} is ours", shard.key());
///         Ok(())
///     }
///
///     async fn stop(&self, shard: Shard) {
///         println!("{} is not ours any more", shard.key());
///     }
/// }
/// ```
pub trait Shards: Send + Sync + 'static {
    /// Makes the shard ready for requests. An error gives it back to the server.
    fn start(&self, shard: Shard) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Ends all work of the shard. Called once for each `start` that succeeded,
    /// unless `hand_over` is.
    fn stop(&self, shard: Shard) -> impl Future<Output = ()> + Send;

    /// The same when the shard goes to another executor in good order: requests
    /// under way have ended ([`Executor::serve`](crate::Executor::serve)), and what
    /// it returns, at most 1 MiB, is the [`state`](Shard::state) of the next start.
    /// By default it calls `stop` and passes nothing.
    fn hand_over(&self, shard: Shard) -> impl Future<Output = Vec<u8>> + Send {
        async {
            self.stop(shard).await;
            Vec::new()
        }
    }

    /// Makes ready for a shard that is about to come, while its owner still serves:
    /// fills caches, opens files to read. Nothing may be done that only the owner
    /// may do. The owner is asked to stop when this has returned, or after the
    /// setting `prepare_timeout` (5 s); it is cancelled if the shard comes sooner.
    /// After an error the shard is likely to go elsewhere.
    fn prepare(&self, shard: &str) -> impl Future<Output = Result<(), BoxError>> + Send {
        let _ = shard;
        async { Ok(()) }
    }

    /// Gives free what `prepare` made ready: the shard does not come. It may not
    /// have returned; it is cancelled then.
    fn abandon(&self, shard: &str) -> impl Future<Output = ()> + Send {
        let _ = shard;
        async {}
    }

    /// How much work the shard is at present, in any unit that is the same for
    /// all shards of the namespace; `None` while it is not known. Finite and not
    /// negative. Called on a thread of its own, about once a beat.
    fn load(&self, shard: &str) -> Option<f64> {
        let _ = shard;
        None
    }

    /// What moving the shard costs, in moves of a shard that says nothing: the
    /// size of its state over the usual size, for instance. Finite and above 0;
    /// `None` if it has nothing to say. The adaptive planner moves a shard with 3
    /// only where it helps three times as much. Called right after `load`, for
    /// shards that have one.
    fn move_cost(&self, shard: &str) -> Option<f64> {
        let _ = shard;
        None
    }
}
