//! How others balance, re-implemented from their descriptions: the planners of
//! Golem and Pekko, which count shards, Dicer's objective, and the exchange that
//! a fork of the Go Shard Manager adds to greedy.
//!
//! Each is written for one purpose, to be measured beside ours on the same
//! work. What the real systems do besides (Dicer splits and replicates hot
//! ranges) is left out, and the figures say nothing about it.

mod dicer;
mod golem;
mod pekko;
mod swap;
mod tray;

pub use dicer::Dicer;
pub use golem::Golem;
pub use pekko::Pekko;
pub use swap::Swap;
