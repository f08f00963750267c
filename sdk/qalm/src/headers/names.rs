//! The names that are looked up in every request or answer, made once: a name that is
//! given as text is parsed, and one that is inserted so is allocated.

use http::HeaderName;

pub(crate) static CRITICALITY: HeaderName = HeaderName::from_static(super::CRITICALITY);
pub(crate) static COHORT: HeaderName = HeaderName::from_static(super::COHORT);
pub(crate) static DEADLINE_MS: HeaderName = HeaderName::from_static(super::DEADLINE_MS);
pub(crate) static GRPC_TIMEOUT: HeaderName = HeaderName::from_static(super::GRPC_TIMEOUT);
pub(crate) static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
