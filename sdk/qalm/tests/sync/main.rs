//! A service whose policy is on a server, over real sockets, against a server that
//! does what the test says.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test expects not to fail, fails it"
)]

mod away;
mod harness;
mod holding;
mod keeping;
mod observing;
mod pushing;
mod swapping;
