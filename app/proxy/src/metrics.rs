//! Figures of one proxy, in a registry of its own: two in one process do not
//! share any. What is shed, and why, is counted by the shedding layer.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::failure::Failure;

/// Upper bounds of buckets, in seconds: from a service on the same host that
/// answers from memory to the longest that anybody waits.
const BUCKETS: [f64; 14] =
    [250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0];

/// What a request came in as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Grpc,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfRequest {
    protocol: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OfProtocol {
    protocol: &'static str,
}

/// Every figure of one proxy.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    requests: Family<OfRequest, Counter>,
    answered: [Counter; 3],
    first_byte: Histogram,
    pub(crate) in_flight: Opener,
    pub(crate) connections: Opener,
    pub(crate) tunnels: Opener,
    pub(crate) accept_failures: Counter,
    upstream_open: Family<OfProtocol, Gauge>,
    upstream_opened: Family<OfProtocol, Counter>,
}

/// Counts how many things are open, and how many ever were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opener {
    open: Gauge,
    opened: Counter,
}

/// One open thing, until dropped.
#[derive(Debug)]
pub(crate) struct Open(Gauge);

/// What becomes of one request. Left alone, the client has gone away before.
#[derive(Debug)]
pub(crate) struct Outcome {
    metrics: Metrics,
    protocol: Protocol,
    is_known: bool,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        let requests: Family<OfRequest, Counter> = Family::default();
        let answered = Protocol::ALL.map(|protocol| {
            for outcome in Failure::ALL.map(Failure::word).into_iter().chain(["cancelled"]) {
                drop(requests.get_or_create(&of(protocol, outcome)));
            }
            requests.get_or_create(&of(protocol, "answered")).clone()
        });
        let metrics = Self {
            registry: Arc::default(),
            requests,
            answered,
            first_byte: Histogram::new(BUCKETS),
            in_flight: Opener::default(),
            connections: Opener::default(),
            tunnels: Opener::default(),
            accept_failures: Counter::default(),
            upstream_open: Family::default(),
            upstream_opened: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    /// Where others put their figures, so that one page has them all.
    pub fn registry(&self) -> &Mutex<Registry> {
        &self.registry
    }

    /// All figures as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry.lock());
        text
    }

    pub(crate) fn request(&self, protocol: Protocol) -> Outcome {
        Outcome { metrics: self.clone(), protocol, is_known: false }
    }

    pub(crate) fn upstream_open(&self, protocol: &'static str) -> Opener {
        let label = OfProtocol { protocol };
        Opener {
            open: self.upstream_open.get_or_create(&label).clone(),
            opened: self.upstream_opened.get_or_create(&label).clone(),
        }
    }

    fn register(&self) {
        let mut registry = self.registry.lock();
        let openers = [
            (
                "requests_in_flight",
                "Requests whose answer has not come to its end",
                &self.in_flight,
            ),
            ("connections", "Connections of clients", &self.connections),
            ("tunnels", "Upgraded connections", &self.tunnels),
        ];
        for (name, help, opener) in openers {
            registry.register(format!("plimsoll_proxy_{name}"), help, opener.open.clone());
        }
        registry.register(
            "plimsoll_proxy_accepted",
            "Connections of clients that were taken",
            self.connections.opened.clone(),
        );
        registry.register(
            "plimsoll_proxy_accept_failures",
            "Connections that could not be taken, e.g. for want of file descriptors",
            self.accept_failures.clone(),
        );
        registry.register(
            "plimsoll_proxy_requests",
            "Requests that were passed on, by what became of them",
            self.requests.clone(),
        );
        registry.register(
            "plimsoll_proxy_first_byte_seconds",
            "Time from passing a request on to the head of its answer, in seconds",
            self.first_byte.clone(),
        );
        registry.register(
            "plimsoll_proxy_upstream_connections",
            "Connections to the service",
            self.upstream_open.clone(),
        );
        registry.register(
            "plimsoll_proxy_upstream_opened",
            "Connections to the service that were opened",
            self.upstream_opened.clone(),
        );
    }
}

// === impl Opener ===

impl Opener {
    pub(crate) fn open(&self) -> Open {
        self.opened.inc();
        self.open.inc();
        Open(self.open.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

// === impl Outcome ===

impl Outcome {
    /// The service has begun to answer.
    pub(crate) fn answered(&mut self, after: Duration) {
        self.is_known = true;
        self.metrics.answered[self.protocol as usize].inc();
        self.metrics.first_byte.observe(after.as_secs_f64());
    }

    /// The proxy answers itself.
    pub(crate) fn failed(&mut self, failure: Failure) {
        self.known(failure.word());
    }

    fn known(&mut self, outcome: &'static str) {
        self.is_known = true;
        self.metrics.requests.get_or_create(&of(self.protocol, outcome)).inc();
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if !self.is_known {
            self.known("cancelled");
        }
    }
}

// === impl Protocol ===

impl Protocol {
    const ALL: [Self; 3] = [Self::Http1, Self::Http2, Self::Grpc];

    fn word(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
            Self::Grpc => "grpc",
        }
    }
}

fn of(protocol: Protocol, outcome: &'static str) -> OfRequest {
    OfRequest { protocol: protocol.word(), outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_nobody_waited_for_is_cancelled() {
        let metrics = Metrics::default();
        drop(metrics.request(Protocol::Grpc));
        let mut answered = metrics.request(Protocol::Http1);
        answered.answered(Duration::from_millis(1));
        drop(answered);
        let text = metrics.text();
        let line = |labels: &str, count: u32| {
            let line = format!("plimsoll_proxy_requests_total{{{labels}}} {count}\n");
            assert!(text.contains(&line), "{line} in {text}");
        };
        line("protocol=\"grpc\",outcome=\"cancelled\"", 1);
        line("protocol=\"http1\",outcome=\"cancelled\"", 0);
        line("protocol=\"http1\",outcome=\"answered\"", 1);
    }

    #[test]
    fn what_is_open_counts_until_it_is_dropped() {
        let opener = Opener::default();
        let open = opener.open();
        assert_eq!((opener.open.get(), opener.opened.get()), (1, 1));
        drop(open);
        assert_eq!((opener.open.get(), opener.opened.get()), (0, 1));
    }
}
