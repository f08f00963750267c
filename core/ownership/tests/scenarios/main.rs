//! One namespace in virtual time, one promise a test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adaptive;
mod drains;
mod ephemeral;
mod explanations;
mod grants;
mod handover;
mod leases;
mod orders;
mod overlap;
mod quarantine;
mod restart;
mod returning;
mod sessions;
#[path = "../common/store.rs"]
mod store;
mod takeover;
mod unary;
mod world;
