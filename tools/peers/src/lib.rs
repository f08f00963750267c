//! Other people's load shedders, to be run beside ours on the same arrivals.
//!
//! Each algorithm is a small pure type that is told the time; [`Pool`] gives it a
//! queue, slots and waiters. Published formulas and constants are kept, faults
//! included: a peer that was improved would prove nothing. Where an original
//! measures something that an experiment does not have, its head says what it is
//! given instead, and that is always to its advantage.

pub mod admission;
pub mod asked;
pub mod bbr;
pub mod bucket;
pub mod codel;
pub mod dagor;
pub mod limit;
pub mod literal;
pub mod machine;
pub mod min_wait;
pub mod none;
pub mod partitioned;
pub mod pid;
pub mod pool;
pub mod slough;

pub use admission::{Admission, Admitting, Guard, Rejected};
pub use asked::Asked;
pub use pool::Pool;
