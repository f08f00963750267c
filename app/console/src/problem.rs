//! What can go wrong between a page and its answer, in the words of the page.

use axum::http::StatusCode;
use tonic::{Code, Status};

/// Why there is no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Problem {
    /// There is no such thing.
    Missing(String),
    /// Whoever asks may not.
    Refused(String),
    /// What was asked makes no sense.
    Invalid(String),
    /// Nobody answers at the moment; the next try may succeed.
    Away(String),
    /// The server has a defect.
    Broken(String),
}

impl Problem {
    pub(crate) fn of(status: &Status) -> Self {
        let text = status.message().to_owned();
        match status.code() {
            Code::NotFound => Self::Missing(text),
            Code::PermissionDenied | Code::Unauthenticated => Self::Refused(text),
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::AlreadyExists => Self::Invalid(text),
            // A stream that was cut comes as `Unknown`.
            Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Aborted
            | Code::ResourceExhausted
            | Code::Unknown => Self::Away(text),
            Code::Ok | Code::Internal | Code::Unimplemented | Code::DataLoss => Self::Broken(text),
        }
    }

    /// The heading of its page.
    pub(crate) fn heading(&self) -> &'static str {
        match self {
            Self::Missing(_) => "Not found",
            Self::Refused(_) => "No permission",
            Self::Invalid(_) => "That cannot be done",
            Self::Away(_) => "No answer",
            Self::Broken(_) => "The server failed",
        }
    }

    /// What happened.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Missing(text)
            | Self::Refused(text)
            | Self::Invalid(text)
            | Self::Away(text)
            | Self::Broken(text) => text,
        }
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::Missing(_) => "It may have been deleted, or the address may be mistyped.",
            Self::Refused(_) => "Nothing was changed.",
            Self::Invalid(_) => "Nothing was changed. Correct it and try again.",
            Self::Away(_) => "Try again in a moment. If it lasts, look whether a server leads it.",
            Self::Broken(_) => "The server's log has more. Please report it.",
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_not_is_told_so_and_whoever_is_away_may_come_back() {
        let refused = Problem::of(&Status::permission_denied("not you"));
        assert_eq!(refused, Problem::Refused("not you".to_owned()));
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        let away = Problem::of(&Status::unavailable("nobody leads it"));
        assert_eq!(away.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
