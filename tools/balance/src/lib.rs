//! Planners side by side on the same work.
//!
//! Each experiment runs the product's planners and those of others on the same
//! loads and says what came of it: how even hosts are, what was moved for it,
//! how long it took. Results go to a table, CSV, SVG or JSON. Depends on
//! `core/placement` alone, so that it builds in seconds; the experiment with
//! real processes is in the laboratory itself.
//!
//! Time is virtual everywhere but where the planner itself is timed. Every
//! experiment is decided by its seed.

mod all;
pub mod experiments;
pub mod measure;
pub mod meta;
pub mod mode;
pub mod peers;
pub mod report;
pub mod rest;
pub mod simulate;
pub mod solver;
pub mod source;
pub mod traffic;
pub mod world;

pub use all::run_all;
pub use experiments::{Experiment, run};
pub use report::Output;
