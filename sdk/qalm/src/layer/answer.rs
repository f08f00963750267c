//! What a caller is told whose request was not admitted: enough to hold back.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use plimsoll_shedding::verdict::{Reason, Refusal};

use crate::headers;

/// gRPC's numbers of the two outcomes.
const DEADLINE_EXCEEDED: HeaderValue = HeaderValue::from_static("4");
const RESOURCE_EXHAUSTED: HeaderValue = HeaderValue::from_static("8");

/// The status of HTTP answers to requests that are shed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ShedStatus {
    /// 503: what proxies and clients retry elsewhere.
    #[default]
    ServiceUnavailable,
    /// 429: for clients and meters that take 5xx for failures of the service.
    TooManyRequests,
}

/// An answer that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) refusal: Refusal,
    pub(super) grpc: bool,
    pub(super) status: ShedStatus,
}

impl Answer {
    /// The answer, and its body. Without one, gRPC's trailers are its headers.
    pub(super) fn response(self) -> Response<Bytes> {
        let mut response = if self.grpc { self.grpc_response() } else { self.http_response() };
        self.tell(response.headers_mut());
        response
    }

    fn grpc_response(self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        let status = if self.is_expired() { DEADLINE_EXCEEDED } else { RESOURCE_EXHAUSTED };
        headers.insert("grpc-status", status);
        if let Ok(message) = HeaderValue::try_from(self.sentence()) {
            headers.insert("grpc-message", message);
        }
        response
    }

    fn http_response(self) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.sentence() + "\n"));
        *response.status_mut() = match self.status {
            _ if self.is_expired() => StatusCode::GATEWAY_TIMEOUT,
            ShedStatus::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            ShedStatus::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        };
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        response
    }

    /// The reason, the level, and when to come again.
    fn tell(self, headers: &mut HeaderMap) {
        let reason = HeaderValue::from_static(self.refusal.reason.as_str());
        headers.insert(headers::SHED_REASON, reason);
        let level = HeaderValue::from(u16::from(self.refusal.admitted_level.level()));
        headers.insert(headers::SHED_LEVEL, level);
        if self.is_expired() {
            return;
        }
        let millis = HeaderValue::from(self.retry_millis());
        if self.grpc {
            headers.insert(headers::GRPC_RETRY_PUSHBACK_MS, millis.clone());
        }
        headers.insert(headers::RETRY_AFTER_MS, millis);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_seconds()));
    }

    fn sentence(self) -> String {
        let level = self.refusal.admitted_level;
        match self.refusal.reason {
            Reason::Expired => "expired: its caller waits no longer".to_owned(),
            Reason::ShuttingDown => "shed: the service is shutting down".to_owned(),
            reason => {
                let (reason, millis) = (reason.as_str(), self.retry_millis());
                format!("shed: {reason}; admitted now: level {level}; retry after {millis} ms")
            }
        }
    }

    fn is_expired(self) -> bool {
        self.refusal.reason == Reason::Expired
    }

    fn retry_millis(self) -> u64 {
        // A retry after more than 584 million years is no retry.
        u64::try_from(self.refusal.retry_after.as_millis()).unwrap_or(u64::MAX)
    }

    /// Whole seconds, at least one: the header knows no less.
    fn retry_seconds(self) -> u64 {
        let up = self.refusal.retry_after + Duration::from_nanos(999_999_999);
        up.as_secs().max(1)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::Criticality;

    use super::*;

    fn answer(reason: Reason, grpc: bool, millis: u64) -> Response<Bytes> {
        let refusal = Refusal {
            reason,
            admitted_level: Criticality::CoreFlow,
            retry_after: Duration::from_millis(millis),
        };
        Answer { refusal, grpc, status: ShedStatus::ServiceUnavailable }.response()
    }

    fn header<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn http_answers_tell_when_to_come_again() {
        let response = answer(Reason::Overload, false, 1001);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(header(&response, "retry-after"), "2");
        assert_eq!(header(&response, "retry-after-ms"), "1001");
        assert_eq!(header(&response, "x-shed-reason"), "overload");
        assert_eq!(header(&response, "x-shed-level"), "2");
        assert_eq!(
            &response.body()[..],
            b"shed: overload; admitted now: level 2; retry after 1001 ms\n"
        );
    }

    #[test]
    fn a_second_is_the_least_that_retry_after_can_say() {
        assert_eq!(header(&answer(Reason::Overload, false, 3), "retry-after"), "1");
    }

    #[test]
    fn grpc_answers_have_only_trailers() {
        let response = answer(Reason::QueueFull, true, 40);
        assert_eq!(response.status(), StatusCode::OK);
        assert!(response.body().is_empty());
        assert_eq!(header(&response, "grpc-status"), "8");
        assert_eq!(header(&response, "grpc-retry-pushback-ms"), "40");
        assert_eq!(header(&response, "x-shed-reason"), "queue_full");
    }

    #[test]
    fn what_has_expired_is_no_shed_and_is_not_asked_to_come_again() {
        let (http, grpc) = (answer(Reason::Expired, false, 9), answer(Reason::Expired, true, 9));
        assert_eq!(http.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(header(&grpc, "grpc-status"), "4");
        for response in [http, grpc] {
            assert_eq!(header(&response, "x-shed-reason"), "expired");
            assert_eq!(header(&response, "retry-after"), "");
            assert_eq!(header(&response, "grpc-retry-pushback-ms"), "");
        }
    }
}
