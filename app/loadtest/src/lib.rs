//! An open-loop load generator for HTTP and unary gRPC.
//!
//! Every request has an intended start that no answer can delay, and its latency
//! counts from there: a stalled server is charged with all who would have come
//! meanwhile (no coordinated omission; Tene, "How NOT to Measure Latency", 2015).
//! What could not be started is counted and said, and so is the generator's own lag.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use plimsoll_loadtest::{Call, Plan, Version, run};
//!
//! let call = Call::Http {
//!     version: Version::Http2,
//!     method: http::Method::GET,
//!     paths: vec!["/quote".parse()?],
//!     body: bytes::Bytes::new(),
//! };
//! let mut plan = Plan::new("http://127.0.0.1:8080".parse()?, call, 500.0, Duration::from_secs(10));
//! plan.callers = vec!["checkout=2:60".parse()?, "batch=4:40".parse()?];
//! let report = run(plan, (), std::future::pending()).await?;
//! println!("{:?}", report.levels[0].figures.latency);
//! # Ok(()) }
//! ```
//!
//! `schedule`, `phase`, `share`, `outcome`, `ledger` and what they use are pure: they
//! are given times and random seeds. Only `wire`, `pacer` and `run` touch the world.

mod caller;
mod error;
mod grpc;
pub mod headers;
mod latency;
mod ledger;
mod observe;
mod outcome;
mod pacer;
mod phase;
mod plan;
mod reasons;
mod report;
mod request;
mod run;
mod schedule;
mod series;
mod share;
mod tally;
mod target;
mod threshold;
pub mod view;
mod wire;

pub use caller::{Caller, MAX_CALLERS};
pub use error::Error;
pub use latency::Percentiles;
pub use observe::{Observer, Progress};
pub use outcome::Outcome;
pub use phase::{MAX_LASTS, MAX_RATE, Phase, Profile, parse_rate};
pub use plan::{
    Call, MAX_CONNECTIONS, MAX_IN_FLIGHT, MAX_TIMEOUT, Plan, Schema, Version, WeightedPath,
};
pub use report::{CallerFigures, Generator, LAG_WARNING_MS, LevelFigures, Reason, Report, Step};
pub use run::run;
pub use schedule::{Arrival, Arrivals, Mix, Schedule};
pub use series::{CallerCounts, Second};
pub use share::Shares;
pub use tally::{Counts, Figures};
pub use target::Target;
pub use threshold::Threshold;
