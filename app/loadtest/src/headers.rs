//! The header names that a load test sends and reads: the only place where they are spelt.

use http::HeaderName;

/// Who calls; sent for every caller of the plan.
pub const CALLER: HeaderName = HeaderName::from_static("rpc-caller");
/// The caller's criticality, "1" to "4"; sent beside [`CALLER`].
pub const CRITICALITY: HeaderName = HeaderName::from_static("x-plimsoll-criticality");
/// Why a request was refused; an answer without it was not shed but failed.
pub const SHED_REASON: HeaderName = HeaderName::from_static("x-shed-reason");
/// The reason that stands for "its deadline had passed before its turn came".
pub const REASON_EXPIRED: &str = "expired";

pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
