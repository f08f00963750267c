//! The variant that waits: a service whose capacity is a number of places and not
//! the CPU, in this process, so that many shedders can be run on the same arrivals.

mod draws;
mod run;
mod service;

pub(crate) use run::moment;
pub use run::{closed_loop, open_loop};
pub(crate) use service::Service;
pub use service::{Odd, ServicePlan};
