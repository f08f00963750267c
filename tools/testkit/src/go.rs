//! The Go clients, played at HTTP/2 level: the headers that yarpc sends, the
//! messages framed by hand, and the habits of its executor and spectator.

mod client;
mod executor;
mod reply;
mod stream;

pub use client::{GoClient, Shape};
pub use executor::{Beating, GoExecutor};
pub use reply::{Reply, TypedDetail};
pub use stream::GoStream;

/// The path of the spectators' and operators' half.
pub const API: &str = "/uber.cadence.sharddistributor.v1.ShardDistributorAPI";
/// The path of the executors' half.
pub const EXECUTOR_API: &str = "/uber.cadence.sharddistributor.v1.ShardDistributorExecutorAPI";
