//! Builds requests from parts that were made once, and judges their answers.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, TE};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

use crate::caller::Caller;
use crate::error::Error;
use crate::grpc;
use crate::headers;
use crate::outcome::Settled;
use crate::plan::{Call, Plan};
use crate::schedule::Arrival;
use crate::wire::{Answer, Dialer};

/// All requests of a plan, by caller and path.
#[derive(Debug)]
pub(crate) struct Requests {
    method: Method,
    uris: Vec<Uri>,
    /// One a caller; one in all if no caller is named.
    heads: Vec<HeaderMap>,
    body: Bytes,
    is_grpc: bool,
}

impl Requests {
    /// Prepares everything that can be; a gRPC method is looked up here.
    pub(crate) async fn prepare(
        plan: &Plan,
        dialer: &Dialer,
        is_http2: bool,
    ) -> Result<Self, Error> {
        match &plan.call {
            Call::Http { method, paths, body, .. } => {
                let own = || vec![plan.target.path().clone()];
                let paths: Vec<_> = paths.iter().map(|weighted| weighted.path.clone()).collect();
                let paths = if paths.is_empty() { own() } else { paths };
                Self::new(plan, method.clone(), &paths, body.clone(), is_http2)
            }
            Call::Grpc { method, json, schema } => {
                let message = grpc::message(plan, dialer, method, json, schema).await?;
                let path = format!("/{method}").parse();
                let path = path.map_err(|why| Error::Plan(format!("{method:?}: {why}")))?;
                Self::new(plan, Method::POST, &[path], grpc::framed(&message), is_http2)
            }
        }
    }

    fn new(
        plan: &Plan,
        method: Method,
        paths: &[PathAndQuery],
        body: Bytes,
        is_http2: bool,
    ) -> Result<Self, Error> {
        let is_grpc = matches!(plan.call, Call::Grpc { .. });
        let base = base_head(plan, is_grpc, is_http2)?;
        let uri = |path: &PathAndQuery| uri(plan, path, is_http2);
        let uris = paths.iter().map(uri).collect::<Result<_, _>>()?;
        let heads: Result<Vec<_>, _> =
            plan.callers.iter().map(|caller| named(&base, caller)).collect();
        let mut heads = heads?;
        if heads.is_empty() {
            heads.push(base);
        }
        Ok(Self { method, uris, heads, body, is_grpc })
    }

    /// The request of an arrival, which has `time_left` to be answered.
    pub(crate) fn build(&self, arrival: &Arrival, time_left: Duration) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uris[arrival.path].clone();
        *request.headers_mut() = self.heads[arrival.caller].clone();
        if self.is_grpc {
            request.headers_mut().insert(headers::GRPC_TIMEOUT, grpc::timeout(time_left));
        }
        request
    }

    pub(crate) fn judge(&self, answer: &Answer) -> Settled {
        if self.is_grpc {
            Settled::of_grpc(answer.status, &answer.head, answer.trailers.as_ref())
        } else {
            Settled::of_http(answer.status, &answer.head)
        }
    }
}

fn base_head(plan: &Plan, is_grpc: bool, is_http2: bool) -> Result<HeaderMap, Error> {
    let mut head = HeaderMap::new();
    if !is_http2 {
        head.insert(HOST, value(plan.target.authority().as_str())?);
    }
    if is_grpc {
        head.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        head.insert(TE, HeaderValue::from_static("trailers"));
    }
    // The first of a name replaces ours, the others are added.
    let mut seen: Vec<&HeaderName> = Vec::new();
    for (name, value) in &plan.headers {
        if seen.contains(&name) {
            head.append(name, value.clone());
        } else {
            head.insert(name, value.clone());
            seen.push(name);
        }
    }
    Ok(head)
}

fn named(base: &HeaderMap, caller: &Caller) -> Result<HeaderMap, Error> {
    let mut head = base.clone();
    head.insert(headers::CALLER, value(&caller.name)?);
    head.insert(headers::CRITICALITY, HeaderValue::from(u16::from(caller.level)));
    Ok(head)
}

fn value(text: &str) -> Result<HeaderValue, Error> {
    text.parse().map_err(|why| Error::Plan(format!("{text:?} cannot be a header: {why}")))
}

/// The path alone for HTTP/1.1; scheme and host, too, for HTTP/2.
fn uri(plan: &Plan, path: &PathAndQuery, is_http2: bool) -> Result<Uri, Error> {
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = Some(path.clone());
    if is_http2 {
        parts.scheme = Some(if plan.target.is_tls() { Scheme::HTTPS } else { Scheme::HTTP });
        parts.authority = Some(plan.target.authority().clone());
    }
    Uri::from_parts(parts).map_err(|why| Error::Plan(format!("{path}: {why}")))
}
