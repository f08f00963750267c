//! SDK executors and spectators against a server, with an oracle looking on.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod balance;
mod common;
mod crash_loop;
mod drains;
mod ephemeral;
mod leases;
mod outage;
