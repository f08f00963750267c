//! From spans to calls: who was called, by whom, and where it all began.

use std::collections::HashMap;

use plimsoll_shedding::proposal::{Call, Observed, Root, Spoken, endpoint};

use crate::trace::{Span, Trace};

/// A longer chain of spans is a broken one.
const MAX_DEPTH: usize = 1000;
/// Microseconds of a second.
const MICROS: u64 = 1_000_000;

/// What became of the spans that were read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counted {
    pub traces: u64,
    pub spans: u64,
    /// Spans that are calls.
    pub calls: u64,
    /// Of those, calls that do not say which endpoint they are of.
    pub unnamed: u64,
    /// Calls whose caller's span is missing: they are left out, since who called is
    /// not known.
    pub orphans: u64,
}

impl std::ops::AddAssign for Counted {
    fn add_assign(&mut self, more: Self) {
        self.traces += more.traces;
        self.spans += more.spans;
        self.calls += more.calls;
        self.unnamed += more.unnamed;
        self.orphans += more.orphans;
    }
}

/// What a span is at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Server,
    Client,
    /// Messages: nobody waits for an answer.
    Messages,
    Other,
}

/// Counts the calls of traces.
pub fn count(traces: &[Trace], observed: &mut Observed) -> Counted {
    let mut counted = Counted::default();
    for trace in traces {
        Tree::new(trace).count(observed, &mut counted);
    }
    counted
}

/// A trace whose spans are found by their names.
struct Tree<'a> {
    trace: &'a Trace,
    by_id: HashMap<&'a str, &'a Span>,
}

/// Who called.
enum Caller<'a> {
    Nobody,
    Service(&'a str),
    /// It is not a call of its own: a part of one.
    Inside,
    /// Somebody whose span is missing.
    Missing,
}

impl<'a> Tree<'a> {
    fn new(trace: &'a Trace) -> Self {
        let by_id = trace.spans.iter().map(|span| (span.id.as_str(), span)).collect();
        Self { trace, by_id }
    }

    fn count(&self, observed: &mut Observed, counted: &mut Counted) {
        counted.traces += 1;
        counted.spans += self.trace.spans.len() as u64;
        for span in &self.trace.spans {
            let Some(service) = self.service(span) else { continue };
            let caller = match self.caller(span, service) {
                Caller::Inside => continue,
                Caller::Missing => {
                    counted.orphans += 1;
                    continue;
                }
                Caller::Nobody => None,
                Caller::Service(name) => Some(name),
            };
            let endpoint = named(span);
            counted.calls += 1;
            counted.unnamed += u64::from(endpoint.is_none());
            self.add(span, service, caller, endpoint.as_deref(), observed);
        }
    }

    fn add(
        &self,
        span: &Span,
        service: &str,
        caller: Option<&str>,
        endpoint: Option<&str>,
        observed: &mut Observed,
    ) {
        let root = self.root(span);
        let root_name = root.map(|it| named(it).unwrap_or_else(|| it.operation_name.clone()));
        let root = root.zip(root_name.as_deref()).and_then(|(root, endpoint)| {
            let is_request = matches!(kind(root), Kind::Server | Kind::Client);
            Some(Root { service: self.service(root)?, endpoint, is_request })
        });
        let at = (span.start_time > 0).then_some(span.start_time / MICROS);
        observed.add(&Call { service, endpoint, caller, root, at, count: 1 });
    }

    fn service(&self, span: &Span) -> Option<&'a str> {
        let process = self.trace.processes.get(&span.process)?;
        Some(process.service_name.as_str()).filter(|it| !it.is_empty())
    }

    fn caller(&self, span: &Span, service: &str) -> Caller<'a> {
        let kind = kind(span);
        if matches!(kind, Kind::Client | Kind::Messages) {
            return Caller::Inside;
        }
        let Some(parent) = span.parent() else {
            // A root that says nothing may be a job as well as a call.
            return if kind == Kind::Server { Caller::Nobody } else { Caller::Inside };
        };
        let Some(parent) = self.by_id.get(parent) else {
            return if kind == Kind::Server { Caller::Missing } else { Caller::Inside };
        };
        match self.service(parent) {
            Some(caller) if caller != service => Caller::Service(caller),
            // Of its own service, only who sends a request calls.
            Some(caller) if self::kind(parent) == Kind::Client && kind == Kind::Server => {
                Caller::Service(caller)
            }
            _ => Caller::Inside,
        }
    }

    /// The first span of the trace, from this one up; `None`: this is it, or the way
    /// up is broken.
    fn root(&self, span: &Span) -> Option<&'a Span> {
        let mut at = *self.by_id.get(span.parent()?)?;
        for _ in 0..MAX_DEPTH {
            let Some(parent) = at.parent() else { return Some(at) };
            at = *self.by_id.get(parent)?;
        }
        None
    }
}

fn kind(span: &Span) -> Kind {
    match span.tag(&["span.kind"]) {
        "server" => Kind::Server,
        "client" => Kind::Client,
        "consumer" | "producer" => Kind::Messages,
        _ => Kind::Other,
    }
}

fn named(span: &Span) -> Option<String> {
    endpoint(&Spoken {
        operation: &span.operation_name,
        http_method: span.tag(&["http.request.method", "http.method"]),
        http_route: span.tag(&["http.route"]),
        http_path: span.tag(&["url.path", "http.target", "http.path", "url.full", "http.url"]),
        rpc_service: span.tag(&["rpc.service"]),
        rpc_method: span.tag(&["rpc.method"]),
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::proposal::{Heuristics, Proposal};
    use proptest::prelude::*;

    use super::*;
    use crate::parse;

    /// Spans as `id parent service kind operation`; `-` for none.
    fn trace(spans: &[&str]) -> Trace {
        let of = |text: &&str| {
            let words: Vec<&str> = text.splitn(5, ' ').collect();
            let [id, parent, service, kind, operation] = words[..] else { panic!("{text}") };
            let parent = if parent == "-" { "" } else { parent };
            serde_json::json!({
                "spanID": id, "parentSpanID": parent, "processID": service,
                "operationName": operation, "startTime": 3_600_000_000_u64,
                "tags": [{"key": "span.kind", "type": "string", "value": kind}],
            })
        };
        let services = ["web", "menu", "stock", "jobs"];
        let processes: serde_json::Map<_, _> = services
            .iter()
            .map(|&it| (it.to_owned(), serde_json::json!({"serviceName": it})))
            .collect();
        let spans: Vec<_> = spans.iter().map(of).collect();
        let trace = serde_json::json!({"traceID": "t", "spans": spans, "processes": processes});
        parse(trace.to_string().as_bytes()).unwrap().remove(0)
    }

    fn counted(spans: &[&str]) -> (Observed, Counted) {
        let mut observed = Observed::default();
        let counted = count(&[trace(spans)], &mut observed);
        (observed, counted)
    }

    #[test]
    fn a_call_is_counted_once_with_its_caller_and_its_root() {
        let (observed, counted) = counted(&[
            "1 - web server GET /checkout",
            "2 1 web client HTTP GET",
            "3 2 menu server GET /items/{id}",
            "4 3 menu - query",
            "5 4 stock server /stock.v1.Stock/Get",
        ]);
        assert_eq!((counted.calls, counted.spans, counted.orphans), (3, 5, 0));
        assert_eq!(observed.callers("menu").into_iter().collect::<Vec<_>>(), ["web"]);
        let proposal = Proposal::of("stock", &observed, &Heuristics::default()).unwrap();
        let reason = proposal.rules[0].because.to_string();
        assert_eq!(reason, "100 % of its calls serve the core flow GET /checkout of web");
    }

    #[test]
    fn parts_of_a_call_and_messages_are_none() {
        let (observed, counted) = counted(&[
            "1 - menu server GET /items",
            "2 1 menu server render",
            "3 1 menu producer send orders",
            "4 3 stock consumer receive orders",
            "5 - jobs - nightly",
        ]);
        assert_eq!((counted.calls, observed.services().count()), (1, 1));
    }

    #[test]
    fn a_service_may_call_itself() {
        let (observed, _) =
            counted(&["1 - menu server GET /a", "2 1 menu client GET", "3 2 menu server GET /b"]);
        assert!(observed.callers("menu").contains("menu"));
    }

    #[test]
    fn without_kinds_a_span_of_another_service_is_a_call() {
        let (observed, counted) = counted(&["1 - jobs - nightly", "2 1 menu - GET /items"]);
        assert_eq!(counted.calls, 1);
        assert!(observed.callers("menu").contains("jobs"));
    }

    #[test]
    fn whose_caller_is_missing_is_left_out() {
        let (observed, counted) = counted(&["2 1 menu server GET /items"]);
        assert_eq!((counted.calls, counted.orphans, observed.services().count()), (0, 1, 0));
    }

    proptest! {
        #[test]
        fn no_shape_of_a_trace_stops_it(
            spans in prop::collection::vec((0u8..6, 0u8..6, 0usize..4, 0usize..5), 1..12)
        ) {
            let kinds = ["server", "client", "consumer", "producer", "-"];
            let services = ["web", "menu", "stock", "unheard"];
            let spans: Vec<String> = spans
                .iter()
                .map(|(id, parent, service, kind)| {
                    format!("{id} {parent} {} {} op", services[*service], kinds[*kind])
                })
                .collect();
            let spans: Vec<&str> = spans.iter().map(String::as_str).collect();
            let (_, counted) = counted(&spans);
            prop_assert!(counted.calls + counted.orphans <= counted.spans);
        }
    }
}
