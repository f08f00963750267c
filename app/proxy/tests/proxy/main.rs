//! A proxy on loopback between real clients and real services.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test expects not to fail, fails the test"
)]

mod cancel;
mod drain;
mod faults;
mod grpc;
mod headers;
mod http1;
mod http2;
mod leftover;
mod limits;
mod shed;
mod support;
mod upgrade;
