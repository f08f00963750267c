//! What tests of the whole need: servers in this process and in others,
//! executors that tell an oracle what they run, and a player of the Go client
//! down to the bytes.
//!
//! Nothing here sleeps for a guess: whatever takes time is waited for, with a
//! deadline, by [`eventually`] and [`soon`].

pub mod browser;
pub mod chaos;
mod cluster;
mod fixture;
pub mod go;
mod http;
mod oracle;
pub mod process;
pub mod proto;
pub mod session;
mod wait;
mod worker;

pub use cluster::Cluster;
pub use fixture::Fixture;
pub use http::http_get;
pub use oracle::{Oracle, Run};
pub use wait::{SOON, eventually, holds, soon, within};
pub use worker::{Gate, Worker};
