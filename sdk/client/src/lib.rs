//! Plimsoll for Rust services: run shards, or find out who runs them.
//!
//! An [`Executor`] is told which shards to run and starts and stops them; a
//! [`Spectator`] knows the owner of every shard; one process may well be both.
//! Neither decides anything: that is done in `plimsoll-ownership` and
//! `plimsoll-routing`, which this crate connects to sockets, clocks and tasks.
//!
//! # Run shards
//!
//! ```no_run
//! use plimsoll_client::{BoxError, Executor, Shard, Shards};
//!
//! struct Counters;
//!
//! impl Shards for Counters {
//!     async fn start(&self, shard: Shard) -> Result<(), BoxError> { Ok(()) }
//!     async fn stop(&self, shard: Shard) {}
//! }
//!
//! # async fn example() -> Result<(), BoxError> {
//! let executor = Executor::builder("counters", Counters)
//!     .connect("http://127.0.0.1:7943")
//!     .address("http://10.0.0.7:8080")
//!     .start().await?;
//! let mine = executor.owns("42").is_some(); // ask for every request
//! executor.shutdown().await?; // hands over, then says goodbye
//! # let _ = mine; Ok(()) }
//! ```
//!
//! # Find out who runs them
//!
//! ```no_run
//! # async fn example() -> Result<(), plimsoll_client::BoxError> {
//! use plimsoll_client::Spectator;
//!
//! let spectator = Spectator::connect("http://127.0.0.1:7943", "counters").await?;
//! let owner = spectator.lookup("42").await?;
//! println!("{} at {:?}", owner.executor_id(), owner.address());
//! # Ok(()) }
//! ```
//!
//! # Lose no request in a handover
//!
//! The executor takes requests up with [`Executor::serve`], answers with [`NotHere`]
//! where that fails, and may pass state ([`Shards::hand_over`], [`Shard::state`]) and
//! warm up ([`Shards::prepare`]); whoever calls does so through [`Spectator::call`]
//! or [`RouteLayer`]:
//!
//! ```no_run
//! # async fn example(
//! #     executor: plimsoll_client::Executor,
//! #     spectator: plimsoll_client::Spectator,
//! # ) -> Result<(), plimsoll_client::BoxError> {
//! # async fn ask(_: Option<&str>) -> Result<u64, tonic::Status> { Ok(1) }
//! let serving = executor.serve("42").await.map_err(tonic::Status::from)?;
//! drop(serving); // when the request has been answered
//!
//! let answer = spectator.call("42", |owner| async move { ask(owner.address()).await }).await?;
//! # let _ = answer; Ok(()) }
//! ```
//!
//! # What holds
//!
//! - A shard runs here only under a lease that this process counts itself, from
//!   the moment it sent the last heartbeat that was acknowledged, less a fifth.
//!   [`Executor::owns`] checks it at the instant of the call.
//! - Of one shard there is at most one instance in a process: never a start while
//!   an earlier start or stop runs.
//! - Heartbeats wait for nothing of the application's.
//! - A shard that moves is stopped only when the requests under way have ended, or
//!   have had their time; a request is sent again only if it did nothing where it
//!   was sent; how many are held, and for how long, is bounded.
//! - With the namespace's setting `lease_end = keep` shards outlive the lease when no
//!   server is in touch: [`Executor::contact`] tells.
//! - A spectator's map survives every outage and says how old it is.
//! - `http://` is in the clear; for `https://` and client certificates give
//!   [`Tls`] to [`ExecutorBuilder::tls`] or [`SpectatorBuilder::tls`].

mod backoff;
mod clock;
mod convert;
mod dialer;
mod error;
mod executor;
mod handshake;
mod keys;
#[cfg(feature = "prometheus")]
mod metrics;
mod moved;
#[cfg(feature = "tower")]
mod route;
mod shard;
mod spectator;
mod tls;

use std::time::Duration;

pub use error::{BoxError, ConnectError};
pub use executor::{
    Closed, Contact, Executor, ExecutorBuilder, ExecutorStats, LeaveError, Ownership, Serving,
};
pub use keys::shard_of;
pub use moved::{MOVED_TO, MOVED_TO_EXECUTOR, Misdirected, NextOwner, NotHere, Redirect};
pub use plimsoll_routing::RoutedExecutor;
#[cfg(feature = "tower")]
pub use route::{Route, RouteBody, RouteError, RouteLayer};
pub use shard::{Shard, Shards};
pub use spectator::{CallError, LookupError, Owner, Spectator, SpectatorBuilder, SpectatorStats};
pub use tls::{Tls, TlsError};

/// The metadata key under which an executor publishes its address, as the Go
/// clients have it.
pub const ADDRESS_KEY: &str = "grpc_address";

/// Without a scheme: that depends on whether there is TLS.
const DEFAULT_SERVER: &str = "127.0.0.1:7943";

/// How long coming up waits for a server before it goes on without.
const START_PATIENCE: Duration = Duration::from_secs(3);
