//! Connections to the target, and one call over them.
//!
//! Refuses to retry: a generator that sends twice measures something else. The one
//! exception is a request that a dying connection hands back unsent.

mod dial;
mod http1;
mod http2;
mod tls;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

pub(crate) use self::dial::Dialer;
use crate::error::{Error, chain};
use crate::latency::Percentiles;
use crate::plan::{Plan, Version};

/// As many as an overloaded service is commonly given; most services need few.
const CONNECTIONS_HTTP1: usize = 1000;
const CONNECTIONS_HTTP2: usize = 4;
/// How long connecting may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why there was no answer.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) why: String,
    pub(crate) advice: &'static str,
}

impl Broken {
    fn exchange(error: &hyper::Error) -> Self {
        Self { why: chain(error), advice: "look at the service's log" }
    }

    pub(crate) fn at_start(self, target: &str) -> Error {
        Error::Unreachable { target: target.to_owned(), why: self.why, advice: self.advice }
    }
}

/// A whole answer, without its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) head: HeaderMap,
    pub(crate) trailers: Option<HeaderMap>,
}

/// All connections.
#[derive(Debug)]
pub(crate) enum Wire {
    Http1(http1::Pool),
    Http2(http2::Set),
}

impl Wire {
    /// Opens what is needed to tell that somebody answers: every connection over
    /// HTTP/2, the first over HTTP/1.1.
    pub(crate) async fn connect(plan: &Plan, dialer: Dialer) -> Result<Self, Broken> {
        match dialer.settle_version(plan.version()).await? {
            (dialer, Version::Http2) => {
                let count = plan.connections.unwrap_or(CONNECTIONS_HTTP2);
                http2::Set::connect(dialer, count).await.map(Self::Http2)
            }
            (dialer, Version::Http1 | Version::Negotiated) => {
                let count = plan.connections.unwrap_or(CONNECTIONS_HTTP1);
                http1::Pool::connect(dialer, count).await.map(Self::Http1)
            }
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// How long requests waited while all connections were busy; `None` over HTTP/2.
    pub(crate) fn waits(&self) -> Option<Percentiles> {
        match self {
            Self::Http1(pool) => pool.waits(),
            Self::Http2(_) => None,
        }
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) async fn call(&self, request: Request<Full<Bytes>>) -> Result<Answer, Broken> {
        match self {
            Self::Http1(pool) => pool.call(request).await,
            Self::Http2(set) => set.call(request).await,
        }
    }
}

async fn read(response: Response<Incoming>) -> Result<Answer, Broken> {
    let (head, mut body) = response.into_parts();
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Broken::exchange(&error))?;
        trailers = frame.into_trailers().ok().or(trailers);
    }
    Ok(Answer { status: head.status, head: head.headers, trailers })
}
