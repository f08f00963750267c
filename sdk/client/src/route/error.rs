//! Why a request was not answered by an owner, and the status that says so.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use crate::{BoxError, LookupError};

/// A request that reached no owner, or whose owner did not answer.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    #[error("the request names no shard")]
    NoKey,
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// For a moment, if a server has just started and has not heard of it again.
    #[error("executor {executor} publishes no address")]
    NoAddress { executor: String },
    #[error("the owner's address {address:?} is none: {error}")]
    BadAddress { address: String, error: http::Error },
    #[error("the request's body broke off: {0}")]
    Body(BoxError),
    #[error("the owner did not answer: {0}")]
    Inner(BoxError),
    /// Nothing was done.
    #[error("nobody took the request for shard {shard:?} in {waited:?}: try again")]
    GaveUp { shard: Arc<str>, waited: Duration },
    /// Nothing was done.
    #[error("shard {shard:?} is in handover and {held} requests are held already: shed load")]
    Full { shard: Arc<str>, held: usize },
    #[error("the body was sent already and is not there any more")]
    Sent,
}

impl RouteError {
    pub(super) fn inner(error: impl Into<BoxError>) -> Self {
        Self::Inner(error.into())
    }

    /// What to answer the caller with: 503 where trying again may help.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoKey | Self::Body(_) | Self::Lookup(LookupError::Refused { .. }) => {
                StatusCode::BAD_REQUEST
            }
            Self::Lookup(LookupError::NotFound { .. }) => StatusCode::NOT_FOUND,
            Self::Lookup(LookupError::Drained { .. } | LookupError::Unavailable { .. })
            | Self::NoAddress { .. }
            | Self::GaveUp { .. }
            | Self::Full { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::BadAddress { .. } | Self::Inner(_) | Self::Sent => StatusCode::BAD_GATEWAY,
        }
    }
}
