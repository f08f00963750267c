//! What a spectator knows: which executor owns which shard, as of a revision.
//!
//! Passive: parts of a snapshot and deltas go in, lookups come out. It opens no
//! stream, reads no clock and asks nobody about a shard it does not know; the
//! SDK's spectator and the server's own replica both drive it.

mod change;
mod executors;
mod table;

pub use change::{Delta, RouteChange, RoutedExecutor, SnapshotPart};
pub use table::{Applied, Lookup, Rejected, Route, Table};
