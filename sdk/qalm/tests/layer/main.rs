//! The layer over real sockets, and the gate behind it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test expects not to fail, fails it"
)]

mod allocations;
mod certificate;
mod gate;
mod grpc;
mod harness;
mod hostile;
mod http;
mod policy;
mod quotes;
mod refusing;
mod showing;
mod streams;
