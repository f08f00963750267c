//! The headers that level, cohort, deadline and refusals travel in: their names,
//! and how they are read and written.
//!
//! Read strictly: a value that is not exactly what it should be, or is given
//! twice, counts as not given, and is counted. Nothing here raises a level: what
//! a caller says is put against what the policy allows with
//! [`Incoming::level`].

pub(crate) mod names;
mod read;
mod refused;
mod timeout;

pub use read::{BadHeaders, Incoming};
pub use refused::{Refused, RetryAdvice};
pub(crate) use timeout::timeout_value;

/// Who calls, as YARPC says it; see [`X_CALLER`].
pub const RPC_CALLER: &str = "rpc-caller";
/// Who calls, where `rpc-caller` is not given.
pub const X_CALLER: &str = "x-caller";
/// The level that the caller asks for, 1 to 4.
pub const CRITICALITY: &str = "x-plimsoll-criticality";
/// The cohort of the user on whose behalf the request is, 0 to 127.
pub const COHORT: &str = "x-plimsoll-cohort";
/// How long the caller waits from now on, in milliseconds. gRPC: [`GRPC_TIMEOUT`].
pub const DEADLINE_MS: &str = "x-plimsoll-deadline-ms";
/// How long a gRPC caller waits from now on.
pub const GRPC_TIMEOUT: &str = "grpc-timeout";

/// In answers: the request was refused before its handler saw it, and why.
pub const SHED_REASON: &str = "x-shed-reason";
/// In answers: the least critical level that is being admitted now.
pub const SHED_LEVEL: &str = "x-shed-level";
/// In answers: when to come again, in whole seconds, at least 1.
pub const RETRY_AFTER: &str = "retry-after";
/// In answers: when to come again, in milliseconds.
pub const RETRY_AFTER_MS: &str = "retry-after-ms";
/// In gRPC answers: when to come again, in milliseconds; what is no number: never.
pub const GRPC_RETRY_PUSHBACK_MS: &str = "grpc-retry-pushback-ms";
