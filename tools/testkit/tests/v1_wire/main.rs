//! Our own wire by hand: sessions, watches and orders.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod admin;
mod session;
mod watch;
