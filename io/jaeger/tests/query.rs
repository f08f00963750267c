//! A scripted query service of Jaeger, and a day of traces as one saves them.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails it")]

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use plimsoll_jaeger::{Jaeger, JaegerError, Lookup};
use plimsoll_shedding::proposal::{Heuristics, Observed, Proposal};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Midnight at which the traces of the fixture begin, in seconds since 1970.
const MIDNIGHT: u64 = 1_764_460_800;
const DAY: Duration = Duration::from_secs(24 * 3600);

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces.json")
}

/// Answers as the query service does, from the fixture, and notes what it is asked.
#[derive(Clone)]
struct Played {
    traces: Arc<Vec<Value>>,
    asked: Arc<Mutex<Vec<HashMap<String, String>>>>,
}

impl Played {
    fn new() -> Self {
        let text = std::fs::read_to_string(fixture()).unwrap();
        let mut all: Value = serde_json::from_str(&text).unwrap();
        let traces = all["data"].take().as_array().unwrap().clone();
        Self { traces: Arc::new(traces), asked: Arc::default() }
    }

    async fn serve(&self) -> Jaeger {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/api/services", get(services))
            .route("/api/services/{service}/operations", get(operations))
            .route("/api/traces", get(traces))
            .route("/api/dependencies", get(dependencies))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Jaeger::new(&format!("http://{address}")).unwrap()
    }
}

fn has(trace: &Value, service: &str) -> bool {
    let processes = trace["processes"].as_object().unwrap();
    processes.values().any(|it| it["serviceName"] == service)
}

async fn services(State(played): State<Played>) -> Json<Value> {
    let processes =
        played.traces.iter().flat_map(|it| it["processes"].as_object().unwrap().values());
    let names: BTreeSet<&str> = processes.map(|it| it["serviceName"].as_str().unwrap()).collect();
    Json(json!({"data": names, "total": names.len(), "errors": null}))
}

async fn operations() -> Json<Value> {
    Json(json!({"data": ["GET /items/{id}", "GET /rarely"], "errors": null}))
}

async fn dependencies() -> Json<Value> {
    Json(json!({"data": [
        {"parent": "storefront", "child": "menu", "callCount": 900},
        {"parent": "loyalty", "child": "menu", "callCount": 17},
    ]}))
}

async fn traces(
    State(played): State<Played>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    played.asked.lock().unwrap().push(query.clone());
    let number = |key: &str| query[key].parse::<u64>().unwrap();
    let (start, end, limit) = (number("start"), number("end"), number("limit"));
    let operation = query.get("operation");
    let fits = |trace: &&Value| {
        let spans = trace["spans"].as_array().unwrap();
        let at = spans[0]["startTime"].as_u64().unwrap();
        let named =
            operation.is_none_or(|it| spans.iter().any(|span| span["operationName"] == **it));
        has(trace, &query["service"]) && (start..end).contains(&at) && named
    };
    let found: Vec<_> = played.traces.iter().filter(fits).take(limit as usize).collect();
    Json(json!({"data": found, "total": 0, "limit": 0, "offset": 0, "errors": null}))
}

fn lookup(limit: u32) -> Lookup {
    Lookup { until: MIDNIGHT + DAY.as_secs(), lookback: DAY, limit }
}

#[test]
fn a_day_of_saved_traces_becomes_a_policy_with_reasons() {
    let mut observed = Observed::default();
    let counted = plimsoll_jaeger::read(&fixture(), &mut observed).unwrap();
    assert_eq!((counted.orphans, counted.unnamed), (1, 0));
    let proposal = Proposal::of("menu", &observed, &Heuristics::default()).unwrap();
    insta::assert_snapshot!(proposal.text(), @r#"
    # A first policy for "menu", from 156 traced calls within 23.5 hours.
    # Names, hours and what calls serve were all there was to judge by: correct it,
    # look at what would be shed, then write "enforce".
    enforcement = "dry-run"

    # supervisors ask it: never queued nor refused
    bypass = ["GET /internal/healthcheck"]

    # 24 calls: 100 % of its calls serve the core flow POST /checkout of storefront
    [[rules]]
    caller = "basket"
    criticality = 2

    # 48 calls: 100 % of its calls serve people, by GET /restaurants/* of storefront
    [[rules]]
    caller = "storefront"
    criticality = 3

    # 6 calls: its name says batch, test or report ("export")
    [[rules]]
    caller = "catalog-export"
    criticality = 4

    # 30 calls: 100 % of its calls come from 02:00 to 04:00 UTC
    [[rules]]
    caller = "warehouse"
    criticality = 4

    # At the default, level 3; look at these first:
    # caller "ads", 24 calls: nothing tells how much it matters
    "#);
}

#[tokio::test]
async fn the_query_service_is_asked_hour_by_hour_and_for_what_was_not_seen() {
    let played = Played::new();
    let jaeger = played.serve().await;
    assert!(jaeger.services().await.unwrap().contains("menu"));
    let (mut observed, mut told) = (Observed::default(), 0);
    let counted = jaeger.count("menu", &lookup(2400), &mut observed, |_| told += 1).await.unwrap();
    let asked = played.asked.lock().unwrap().clone();
    assert_eq!((asked.len(), told), (25, 25), "24 hours, and the operation that was not seen");
    assert!(asked[..24].iter().all(|it| it["service"] == "menu" && it["limit"] == "100"));
    assert_eq!(asked[24]["operation"], "GET /rarely");
    let mut saved = Observed::default();
    let from_file = plimsoll_jaeger::read(&fixture(), &mut saved).unwrap();
    assert!(counted.calls > 0 && counted.calls < from_file.calls, "only traces that met it");
    let of = |observed: &Observed| Proposal::of("menu", observed, &Heuristics::default()).unwrap();
    assert_eq!(of(&observed).rules, of(&saved).rules, "the same calls of the service itself");
}

#[tokio::test]
async fn callers_that_no_trace_has_shown_come_from_the_dependencies() {
    let jaeger = Played::new().serve().await;
    let mut observed = Observed::default();
    plimsoll_jaeger::read(&fixture(), &mut observed).unwrap();
    assert_eq!(jaeger.add_dependencies(&lookup(1), &mut observed).await.unwrap(), 1);
    let proposal = Proposal::of("menu", &observed, &Heuristics::default()).unwrap();
    let loyalty = proposal.unclear.iter().find(|it| it.caller.as_deref() == Some("loyalty"));
    assert_eq!(loyalty.unwrap().calls, 17);
}

#[tokio::test]
async fn what_goes_wrong_is_said_with_where() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/api/services", get(|| async { "<html>a login page</html>" }))
        .route("/api/dependencies", get(|| async { (StatusCode::BAD_GATEWAY, "no storage") }));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let jaeger = Jaeger::new(&address.to_string()).unwrap();
    let no_json = jaeger.services().await.unwrap_err();
    assert!(matches!(no_json, JaegerError::NotJaeger { .. }), "{no_json}");
    let refused = jaeger.add_dependencies(&lookup(1), &mut Observed::default()).await.unwrap_err();
    assert!(refused.to_string().contains("502: no storage"), "{refused}");
    serving.abort();
    let _ = serving.await;
    let gone = Jaeger::new(&address.to_string()).unwrap().services().await.unwrap_err();
    assert!(gone.to_string().contains("cannot ask http://127.0.0.1"), "{gone}");
    let file = plimsoll_jaeger::read(Path::new("/nowhere.json"), &mut Observed::default());
    assert!(file.unwrap_err().to_string().contains("/nowhere.json"));
}
