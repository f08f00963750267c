//! Whether a request is admitted, and which are refused when not all can be.
//!
//! Pure: events and the time in, verdicts out. It knows no socket, no header and
//! no clock, and it never waits: a shell parks the request and asks again.

pub mod criticality;
pub mod policy;
pub mod proposal;
pub mod request;
pub mod settings;
pub mod shedder;
pub mod signal;
pub mod state;
pub mod time;
pub mod traffic;
pub mod verdict;

mod bystanders;
mod cohorts;
mod demand;
mod detector;
mod expiry;
mod handling;
mod jitter;
mod lag;
mod lane;
mod limiter;
mod meter;
mod overload;
mod pressure;
mod queue;
mod service;
mod service_rate;
mod shares;
mod stall;
mod throttle;
mod waiting;

pub use criticality::Criticality;
pub use shedder::Shedder;
pub use time::Time;
