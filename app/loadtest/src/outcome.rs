//! What became of a request, told from its answer alone. Pure.
//!
//! A refusal counts as shed only if it says so: HTTP 503 or 429 with
//! `x-shed-reason`, or gRPC `RESOURCE_EXHAUSTED`. A bare 503 is a failure, since a
//! service that is down answers it too.

use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tonic::{Code, Status};

use crate::headers;

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// HTTP below 400, gRPC `OK`.
    Ok,
    /// Refused with a reason.
    Shed,
    /// Given up by the server because its deadline had passed.
    Expired,
    /// Answered with an error, or the connection broke.
    Failed,
    /// No answer within the plan's timeout, counted from the intended start.
    TimedOut,
    /// Never sent: too many in flight, or the generator was too late.
    NotStarted,
}

impl Outcome {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Shed, Self::Expired, Self::Failed, Self::TimedOut, Self::NotStarted];

    /// As in tables: `timed out`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Shed => "shed",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::NotStarted => "not started",
        }
    }
}

/// An outcome and, unless it is ok, a few words on why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) why: Option<String>,
}

impl Settled {
    pub(crate) fn ok() -> Self {
        Self { outcome: Outcome::Ok, why: None }
    }

    pub(crate) fn new(outcome: Outcome, why: impl Into<String>) -> Self {
        Self { outcome, why: Some(why.into()) }
    }

    /// By status and headers of an HTTP answer.
    pub(crate) fn of_http(status: StatusCode, head: &HeaderMap) -> Self {
        let refuses =
            matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS);
        match text(head, &headers::SHED_REASON) {
            Some(headers::REASON_EXPIRED) => Self::new(Outcome::Expired, headers::REASON_EXPIRED),
            Some(why) if status == StatusCode::GATEWAY_TIMEOUT => Self::new(Outcome::Expired, why),
            Some(why) if refuses => Self::new(Outcome::Shed, why),
            _ if status.as_u16() < 400 => Self::ok(),
            _ => Self::new(Outcome::Failed, format!("HTTP {}", status.as_u16())),
        }
    }

    /// By the answer to a gRPC call. The status is in the trailers, or in the head
    /// when there is no message.
    pub(crate) fn of_grpc(
        status: StatusCode,
        head: &HeaderMap,
        trailers: Option<&HeaderMap>,
    ) -> Self {
        if status != StatusCode::OK {
            return Self::new(Outcome::Failed, format!("HTTP {}", status.as_u16()));
        }
        let last = trailers.filter(|last| last.contains_key(headers::GRPC_STATUS)).unwrap_or(head);
        let Some(code) = last.get(headers::GRPC_STATUS) else {
            return Self::new(Outcome::Failed, "no grpc-status");
        };
        let why = || text(last, &headers::SHED_REASON);
        match Code::from_bytes(code.as_bytes()) {
            Code::Ok => Self::ok(),
            Code::DeadlineExceeded => Self::new(Outcome::Expired, "DEADLINE_EXCEEDED"),
            Code::ResourceExhausted if why() == Some(headers::REASON_EXPIRED) => {
                Self::new(Outcome::Expired, headers::REASON_EXPIRED)
            }
            Code::ResourceExhausted => {
                Self::new(Outcome::Shed, why().unwrap_or("RESOURCE_EXHAUSTED"))
            }
            code => Self::new(Outcome::Failed, grpc_failure(code, last)),
        }
    }
}

fn grpc_failure(code: Code, last: &HeaderMap) -> String {
    // Undoes the percent-encoding of the message.
    let status = Status::from_header_map(last);
    let message = status.as_ref().map(Status::message).unwrap_or_default();
    format!("gRPC {code:?} {message}").trim_end().to_owned()
}

fn text<'a>(head: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a str> {
    head.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn http(status: u16, pairs: &[(&'static str, &'static str)]) -> Settled {
        Settled::of_http(StatusCode::from_u16(status).unwrap(), &head(pairs))
    }

    fn grpc(pairs: &[(&'static str, &'static str)]) -> Settled {
        Settled::of_grpc(StatusCode::OK, &HeaderMap::new(), Some(&head(pairs)))
    }

    #[test]
    fn only_a_refusal_with_a_reason_is_shed() {
        let reason = [("x-shed-reason", "overload")];
        for status in [429, 503] {
            assert_eq!(http(status, &reason), Settled::new(Outcome::Shed, "overload"));
            assert_eq!(http(status, &[]), Settled::new(Outcome::Failed, format!("HTTP {status}")));
        }
        assert_eq!(http(500, &reason).outcome, Outcome::Failed);
        assert_eq!(http(200, &reason), Settled::ok());
    }

    #[test]
    fn a_refusal_for_its_deadline_is_expired_and_not_shed() {
        let expired = [("x-shed-reason", "expired")];
        assert_eq!(http(503, &expired).outcome, Outcome::Expired);
        assert_eq!(http(504, &[("x-shed-reason", "late")]).outcome, Outcome::Expired);
        assert_eq!(http(504, &[]).outcome, Outcome::Failed);
        let answer = [("grpc-status", "8"), ("x-shed-reason", "expired")];
        assert_eq!(grpc(&answer).outcome, Outcome::Expired);
        assert_eq!(grpc(&[("grpc-status", "4")]).outcome, Outcome::Expired);
    }

    #[test]
    fn grpc_is_told_by_its_trailers_or_its_only_head() {
        assert_eq!(grpc(&[("grpc-status", "0")]), Settled::ok());
        let shed = grpc(&[("grpc-status", "8"), ("x-shed-reason", "overload")]);
        assert_eq!(shed, Settled::new(Outcome::Shed, "overload"));
        let only = head(&[("grpc-status", "8")]);
        let shed = Settled::of_grpc(StatusCode::OK, &only, None);
        assert_eq!(shed, Settled::new(Outcome::Shed, "RESOURCE_EXHAUSTED"));
        let failed = grpc(&[("grpc-status", "12"), ("grpc-message", "no%20such method")]);
        assert_eq!(failed, Settled::new(Outcome::Failed, "gRPC Unimplemented no such method"));
        let failed = grpc(&[("grpc-status", "14"), ("grpc-message", "caf%C3%A9 is 100%25 full")]);
        assert_eq!(failed, Settled::new(Outcome::Failed, "gRPC Unavailable café is 100% full"));
    }

    #[test]
    fn what_is_no_grpc_answer_failed() {
        assert_eq!(grpc(&[]), Settled::new(Outcome::Failed, "no grpc-status"));
        let page = Settled::of_grpc(StatusCode::NOT_FOUND, &HeaderMap::new(), None);
        assert_eq!(page, Settled::new(Outcome::Failed, "HTTP 404"));
    }

    #[test]
    fn redirects_are_ok_and_other_errors_are_not() {
        assert_eq!(http(302, &[]), Settled::ok());
        assert_eq!(http(404, &[]), Settled::new(Outcome::Failed, "HTTP 404"));
    }
}
