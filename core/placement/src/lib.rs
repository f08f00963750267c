//! Where shards go: planners, measures of balance, and the reasons.
//!
//! Pure: a view of a namespace in, or what changes in it, a plan with its report out. It knows no
//! lease, no generation and no wire; it reads no clock.

pub mod check;
mod coarse;
pub mod explain;
pub mod ledger;
pub mod load;
pub mod measures;
pub mod placer;
pub mod plan;
pub mod planner;
pub mod policy;
pub mod ring;
pub mod smoothing;
pub mod snapshot;
mod sparse;
mod standing;
pub mod time;
pub mod view;

pub use ledger::Ledger;
pub use planner::plan;
