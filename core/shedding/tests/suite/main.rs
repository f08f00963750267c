//! The whole shedder in virtual time: figures of the specification, and
//! properties over many seeds.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is how a test fails

mod edges;
mod figures;
mod interleavings;
mod proposal;
mod run_queue;
mod simulation;
