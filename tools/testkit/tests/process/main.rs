//! The real binary: killed, stopped, told to leave, and started wrongly.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod dev;
mod kill;
mod leaving;
mod log_filter;
mod scene;
mod stall;
mod starting;
