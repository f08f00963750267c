//! The client against a scripted server on a loopback port: what goes over the
//! wire, and what happens when the server is silent, gone or wrong.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod call;
mod executor;
mod fake;
mod handover;
mod outage;
mod recorder;
#[cfg(feature = "tower")]
mod route;
mod spectator;
