//! Why a call was not made.

use std::fmt;
use std::time::Duration;

use plimsoll_shedding::Criticality;

/// The name of a service that no header can carry.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} cannot be a caller's name: use visible ASCII letters")]
pub struct InvalidName(pub String);

/// A call that was not made: nothing was sent. For tonic it is a `Status` with the
/// code that the callee would have answered.
#[derive(Debug)]
pub struct NotSent {
    why: Why,
    #[cfg(feature = "grpc")]
    status: tonic::Status,
}

/// Why a call was not made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Why {
    /// Nobody waits for its result any more.
    Expired,
    /// The callee has just refused that level.
    HeldBack {
        level: Criticality,
        /// The least critical level that the callee admits.
        admitted: Criticality,
        /// When it is worth trying.
        retry_after: Duration,
    },
}

impl NotSent {
    pub(super) fn new(why: Why) -> Self {
        Self {
            #[cfg(feature = "grpc")]
            status: tonic::Status::new(why.code(), why.to_string()),
            why,
        }
    }

    /// Why it was not made.
    pub fn why(&self) -> Why {
        self.why
    }
}

impl Why {
    #[cfg(feature = "grpc")]
    fn code(self) -> tonic::Code {
        match self {
            Self::Expired => tonic::Code::DeadlineExceeded,
            Self::HeldBack { .. } => tonic::Code::ResourceExhausted,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("not sent: nobody waits for it any more"),
            Self::HeldBack { level, admitted, retry_after } => write!(
                f,
                "not sent: level {level} is being refused there, {admitted} and below are \
                 admitted; worth trying in {retry_after:?}"
            ),
        }
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl std::error::Error for NotSent {
    #[cfg(feature = "grpc")]
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.status)
    }
}
