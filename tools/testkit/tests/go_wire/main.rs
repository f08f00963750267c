//! The Go clients' wire, trap by trap, played at HTTP/2 level.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod common;
mod errors;
mod heads;
mod heartbeat;
mod large;
mod methods;
mod neighbours;
mod refusals;
mod watch;
