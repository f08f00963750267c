//! Policies over real sockets: who saves, who is told, and what they see.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod edits;
mod figures;
mod instance;
mod json;
mod support;
mod sync;
mod traffic;
