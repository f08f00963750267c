//! What the proxy itself answers when a request cannot be passed on, or its
//! answer cannot be passed back.
//!
//! Such an answer can be told from one of the service by [`REASON`], and from a
//! refusal by load, which has `x-shed-reason` and never this field. gRPC callers
//! get the same as a status without messages (trailers-only), whatever HTTP
//! version of theirs is in between.

use http::header::{ALLOW, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::body::Body;

/// The field that holds the reason of an answer that the proxy itself gave.
pub const REASON: HeaderName = HeaderName::from_static("x-proxy-reason");

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Why a request got no answer of the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the service refused the connection: is it running, and does it listen there?")]
    Refused,
    #[error("the service cannot be reached: check its name and the network to it")]
    Unreachable,
    #[error("the service did not take the connection in time: it may be stuck or overloaded")]
    ConnectTimeout,
    #[error(
        "the service does not speak the version of HTTP that it was spoken to: \
         set the upstream to http://HOST:PORT if it knows HTTP/1.1 only, h2c://HOST:PORT if HTTP/2"
    )]
    WrongProtocol,
    #[error("the service coded its answer in a way that it was not asked for (Transfer-Encoding)")]
    AnswerCoding,
    #[error("the service closed the connection before it answered: it may have crashed")]
    Lost,
    #[error("the service did not begin to answer in time")]
    FirstByteTimeout,
    #[error("the proxy is shutting down and could wait no longer for the service")]
    Leaving,
    #[error("the body of the request is larger than the proxy lets through")]
    BodyTooLarge,
    #[error("the body of the request came too slowly: less than 1 KiB a second")]
    BodyTooSlow,
    #[error("the client broke off while it sent the body of the request")]
    ClientBroke,
    #[error("the proxy serves no CONNECT")]
    Connect,
    #[error("the body is coded in a way that the proxy does not know: only chunked may pass")]
    Coding,
    #[error("the request is malformed: {0}")]
    Malformed(#[from] Malformed),
}

/// What leaves more than one reading of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("it names no host")]
    NoHost,
    #[error("it names more than one host")]
    TwoHosts,
    #[error("its host is not a host name or address with an optional port")]
    Host,
    #[error("its path cannot be written as a URI")]
    Path,
}

/// gRPC's status codes that are given here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Code {
    Cancelled = 1,
    DeadlineExceeded = 4,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
}

impl Failure {
    /// Every failure, for metrics to start from zero.
    pub(crate) const ALL: [Self; 17] = [
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::WrongProtocol,
        Self::AnswerCoding,
        Self::Lost,
        Self::FirstByteTimeout,
        Self::Leaving,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::ClientBroke,
        Self::Connect,
        Self::Coding,
        Self::Malformed(Malformed::NoHost),
        Self::Malformed(Malformed::TwoHosts),
        Self::Malformed(Malformed::Host),
        Self::Malformed(Malformed::Path),
    ];

    /// One word for headers, metrics and logs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Refused => "upstream-refused",
            Self::Unreachable => "upstream-unreachable",
            Self::ConnectTimeout => "upstream-connect-timeout",
            Self::WrongProtocol => "upstream-protocol",
            Self::AnswerCoding => "upstream-coding",
            Self::Lost => "upstream-lost",
            Self::FirstByteTimeout => "upstream-timeout",
            Self::Leaving => "leaving",
            Self::BodyTooLarge => "body-too-large",
            Self::BodyTooSlow => "body-too-slow",
            Self::ClientBroke => "client-broke",
            Self::Connect => "connect",
            Self::Coding => "coding",
            Self::Malformed(Malformed::NoHost) => "no-host",
            Self::Malformed(Malformed::TwoHosts) => "two-hosts",
            Self::Malformed(Malformed::Host) => "bad-host",
            Self::Malformed(Malformed::Path) => "bad-path",
        }
    }

    /// Whether the service is to blame, or the way to it.
    pub(crate) fn is_upstream(self) -> bool {
        matches!(self.status(), StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT)
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Refused
            | Self::Unreachable
            | Self::WrongProtocol
            | Self::AnswerCoding
            | Self::Lost => StatusCode::BAD_GATEWAY,
            Self::ConnectTimeout | Self::FirstByteTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Leaving => StatusCode::SERVICE_UNAVAILABLE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Connect => StatusCode::METHOD_NOT_ALLOWED,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::ClientBroke | Self::Malformed(_) => StatusCode::BAD_REQUEST,
        }
    }

    /// A connection that never stood is `UNAVAILABLE`, so that callers may try
    /// again; too large a body is what tonic says of too large a message, since
    /// `RESOURCE_EXHAUSTED` would read as a refusal by load.
    fn code(self) -> Code {
        match self {
            Self::FirstByteTimeout => Code::DeadlineExceeded,
            Self::BodyTooLarge => Code::OutOfRange,
            Self::BodyTooSlow | Self::ClientBroke => Code::Cancelled,
            Self::Connect | Self::Coding => Code::Unimplemented,
            Self::AnswerCoding | Self::Malformed(_) => Code::Internal,
            Self::Refused
            | Self::Unreachable
            | Self::ConnectTimeout
            | Self::WrongProtocol
            | Self::Lost
            | Self::Leaving => Code::Unavailable,
        }
    }

    /// The answer to give.
    pub(crate) fn answer(self, grpc: bool) -> Response<Body> {
        let mut answer = if grpc { self.grpc_answer() } else { self.http_answer() };
        answer.headers_mut().insert(REASON, HeaderValue::from_static(self.word()));
        answer
    }

    fn http_answer(self) -> Response<Body> {
        let mut answer = Response::new(Body::text(format!("plimsoll proxy: {self}\n")));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if self == Self::Connect {
            headers.insert(
                ALLOW,
                HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            );
        }
        answer
    }

    fn grpc_answer(self) -> Response<Body> {
        let mut answer = Response::new(Body::empty());
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        self.write_status(headers);
        answer
    }

    /// The same as trailers, for an answer that has begun.
    pub(crate) fn trailers(self) -> HeaderMap {
        let mut trailers = HeaderMap::new();
        self.write_status(&mut trailers);
        trailers
    }

    fn write_status(self, headers: &mut HeaderMap) {
        headers.insert(GRPC_STATUS, HeaderValue::from(self.code() as u16));
        // The texts above are printable ASCII without `%`: nothing to encode.
        let message = HeaderValue::try_from(format!("plimsoll proxy: {self}"));
        message.into_iter().for_each(|message| drop(headers.insert(GRPC_MESSAGE, message)));
    }
}

/// Whether a caller reads a status from trailers. gRPC-Web does not: it has them
/// in the body, in an encoding that is its own proxy's business.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let Some(rest) = media.strip_prefix(b"application/grpc") else { return false };
    matches!(rest.first(), None | Some(b'+' | b';'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_failure_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = Failure::ALL.iter().map(|failure| failure.word()).collect();
        assert_eq!(words.len(), Failure::ALL.len());
    }

    #[test]
    fn texts_need_no_encoding_in_a_grpc_message() {
        for failure in Failure::ALL {
            let text = failure.to_string();
            assert!(text.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'%'), "{text}");
        }
    }

    #[test]
    fn no_failure_looks_like_a_refusal_by_load() {
        for failure in Failure::ALL {
            assert_ne!(failure.code() as u16, 8, "{failure:?} as gRPC");
            assert_ne!(failure.status(), StatusCode::TOO_MANY_REQUESTS, "{failure:?} as HTTP");
            assert!(failure.answer(false).headers().contains_key(REASON));
        }
    }

    #[test]
    fn a_grpc_caller_gets_trailers_only() {
        let answer = Failure::Refused.answer(true);
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["grpc-status"], "14");
        assert!(http_body::Body::is_end_stream(answer.body()));
    }

    #[test]
    fn grpc_is_told_from_grpc_web_and_from_all_else() {
        let headers = |media: &'static str| {
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))])
        };
        for media in ["application/grpc", "application/grpc+proto", "application/grpc;x=y"] {
            assert!(is_grpc(&headers(media)), "{media}");
        }
        for media in ["application/grpc-web", "application/json", ""] {
            assert!(!is_grpc(&headers(media)), "{media}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }
}
