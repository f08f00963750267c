//! Jaeger's query API over HTTP: services, operations, traces hour by hour,
//! dependencies.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use plimsoll_shedding::proposal::{Call, Observed};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::MAX_BYTES;
use crate::calls::{Counted, count};
use crate::error::JaegerError;
use crate::trace::{Trace, parse};

/// An answer takes no longer than this.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Operations that no trace has shown and that are asked for one by one.
const MAX_OPERATIONS: usize = 100;
/// Traces of each of them.
const TRACES_OF_ONE: u32 = 20;
/// Parts of the lookback that are asked for one by one, at most.
const MAX_PARTS: u64 = 48;
/// An error's text that is passed on, in characters.
const MAX_SAID: usize = 200;

/// Jaeger's query service.
#[derive(Clone, Debug)]
pub struct Jaeger {
    base: String,
    client: Client<HttpConnector, Empty<Bytes>>,
}

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Seconds since 1970.
    pub until: u64,
    pub lookback: Duration,
    /// Traces of one service at most.
    pub limit: u32,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    parent: String,
    child: String,
    #[serde(default)]
    call_count: u64,
}

impl Jaeger {
    /// The query service at `http://HOST:PORT`, maybe with a path before `/api`.
    ///
    /// # Errors
    /// That is no such address.
    pub fn new(address: &str) -> Result<Self, JaegerError> {
        let bad =
            |why: &str| JaegerError::Address { given: address.to_owned(), why: why.to_owned() };
        let full =
            if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let uri: Uri =
            full.parse().map_err(|error: http::uri::InvalidUri| bad(&error.to_string()))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(bad("TLS is not spoken here")),
            _ => return Err(bad("it does not begin with http://")),
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(Duration::from_secs(5)));
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { base: full.trim_end_matches('/').to_owned(), client })
    }

    /// Every service that has traces, by name.
    ///
    /// # Errors
    /// Jaeger cannot be asked.
    pub async fn services(&self) -> Result<BTreeSet<String>, JaegerError> {
        let services: Vec<String> = self.get("/api/services").await?;
        Ok(services.into_iter().collect())
    }

    /// Counts the calls of one service, hour by hour, so that a busy hour does not
    /// hide the quiet ones; then those of operations that were not among them.
    /// `progress` is told after each question.
    ///
    /// # Errors
    /// Jaeger cannot be asked.
    pub async fn count(
        &self,
        service: &str,
        lookup: &Lookup,
        observed: &mut Observed,
        mut progress: impl FnMut(&Counted),
    ) -> Result<Counted, JaegerError> {
        let mut seen = Seen::default();
        for (from, until) in lookup.parts() {
            let limit = (lookup.limit / lookup.parts().count() as u32).max(1);
            seen.add(self.traces(service, None, (from, until), limit).await?, observed);
            progress(&seen.counted);
        }
        let path = format!("/api/services/{}/operations", encoded(service));
        let operations: Vec<String> = self.get(&path).await?;
        let unseen: Vec<&String> =
            operations.iter().filter(|it| !seen.operations.contains(*it)).collect();
        for operation in unseen.into_iter().take(MAX_OPERATIONS) {
            let whole = (lookup.from(), lookup.until);
            let found = self.traces(service, Some(operation), whole, TRACES_OF_ONE).await?;
            seen.add(found, observed);
            progress(&seen.counted);
        }
        Ok(seen.counted)
    }

    /// Callers that Jaeger has worked out and no trace has shown. Returns how many.
    ///
    /// # Errors
    /// Jaeger cannot be asked.
    pub async fn add_dependencies(
        &self,
        lookup: &Lookup,
        observed: &mut Observed,
    ) -> Result<u64, JaegerError> {
        let (until, lookback) = (lookup.until * 1000, lookup.lookback.as_millis());
        let path = format!("/api/dependencies?endTs={until}&lookback={lookback}");
        let all: Vec<Dependency> = self.get(&path).await?;
        let mut added = 0;
        for Dependency { parent, child, call_count } in all {
            let is_known = observed.callers(&child).contains(parent.as_str());
            if is_known || call_count == 0 {
                continue;
            }
            added += 1;
            observed.add(&Call {
                service: &child,
                endpoint: None,
                caller: Some(&parent),
                root: None,
                at: None,
                count: call_count,
            });
        }
        Ok(added)
    }

    async fn traces(
        &self,
        service: &str,
        operation: Option<&str>,
        (from, until): (u64, u64),
        limit: u32,
    ) -> Result<Vec<Trace>, JaegerError> {
        let operation =
            operation.map_or_else(String::new, |it| format!("&operation={}", encoded(it)));
        let (from, until) = (from * 1_000_000, until * 1_000_000);
        let service = encoded(service);
        let path = format!(
            "/api/traces?service={service}{operation}&start={from}&end={until}&limit={limit}&lookback=custom"
        );
        let (url, text) = self.ask(&path).await?;
        parse(&text).map_err(|why| JaegerError::NotJaeger { url, why })
    }

    async fn get<T: DeserializeOwned + Default>(&self, path: &str) -> Result<T, JaegerError> {
        let (url, text) = self.ask(path).await?;
        let answer: Result<Answer<T>, _> = serde_json::from_slice(&text);
        let why = |error: serde_json::Error| JaegerError::NotJaeger { url, why: error.to_string() };
        Ok(answer.map_err(why)?.data.unwrap_or_default())
    }

    /// The whole answer, and what was asked.
    async fn ask(&self, path: &str) -> Result<(String, Bytes), JaegerError> {
        let url = format!("{}{path}", self.base);
        let failed = |why: String| JaegerError::Ask { url: url.clone(), why };
        let uri: Uri =
            url.parse().map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
        let asking = async {
            let answer = self.client.get(uri).await.map_err(|error| failed(chain(&error)))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_BYTES as usize).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            if status.is_success() {
                return Ok(body);
            }
            let said = String::from_utf8_lossy(&body).chars().take(MAX_SAID).collect();
            Err(JaegerError::Status { url: url.clone(), status: status.as_u16(), said })
        };
        let answered = tokio::time::timeout(ANSWER_WITHIN, asking).await;
        let body =
            answered.map_err(|_| failed(format!("no answer within {ANSWER_WITHIN:?}")))??;
        Ok((url, body))
    }
}

/// An error and what caused it, on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

/// What was counted so far: no trace twice.
#[derive(Default)]
struct Seen {
    traces: BTreeSet<String>,
    operations: BTreeSet<String>,
    counted: Counted,
}

impl Seen {
    fn add(&mut self, mut traces: Vec<Trace>, observed: &mut Observed) {
        traces.retain(|trace| trace.id.is_empty() || self.traces.insert(trace.id.clone()));
        let spans = traces.iter().flat_map(|trace| &trace.spans);
        self.operations.extend(spans.map(|span| span.operation_name.clone()));
        self.counted += count(&traces, observed);
    }
}

impl Lookup {
    fn from(&self) -> u64 {
        self.until.saturating_sub(self.lookback.as_secs())
    }

    /// Hours of the lookback, or longer parts of it, as seconds since 1970.
    fn parts(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (from, whole) = (self.from(), self.until - self.from());
        let parts = whole.div_ceil(3600).clamp(1, MAX_PARTS);
        (0..parts).map(move |part| (from + whole * part / parts, from + whole * (part + 1) / parts))
    }
}

/// Of a path or a query (RFC 3986, section 2.3).
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lookback_is_asked_for_hour_by_hour_without_gaps() {
        for (hours, parts) in [(0, 1), (1, 1), (24, 24), (1000, MAX_PARTS as usize)] {
            let lookback = Duration::from_secs(hours * 3600);
            let lookup = Lookup { until: 10_000_000, lookback, limit: 1 };
            let all: Vec<_> = lookup.parts().collect();
            assert_eq!(all.len(), parts, "{hours}");
            assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0));
            assert_eq!((all[0].0, all[parts - 1].1), (lookup.from(), lookup.until));
        }
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(encoded("a b/ü?"), "a%20b%2F%C3%BC%3F");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_do() {
        for (given, why) in
            [("https://jaeger", "curl"), ("ftp://x", "begin with http://"), ("http://", "16686")]
        {
            let error = Jaeger::new(given).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(Jaeger::new("jaeger:16686/").unwrap().base, "http://jaeger:16686");
    }
}
