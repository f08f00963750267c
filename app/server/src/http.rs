//! The HTTP port: health, metrics, and the state of things as JSON for scripts.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use serde::Serialize;

use crate::driver::{Gone, NamespaceHandle};
use crate::grpc::Services;
use crate::listing::{LedBy, Listed};

/// The media type of Prometheus' text format as we write it.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "plimsoll\n\n\
    /healthz                      the process runs\n\
    /readyz                       it can serve\n\
    /metrics                      Prometheus text\n\
    /api/v1/namespaces            namespaces and who leads them, as JSON\n\
    /api/v1/namespaces/NAME       one, with its balance and conditions\n\
    /api/v1/namespaces/NAME/hosts its executors with their loads\n";

/// A namespace in a list.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    r#type: &'static str,
    shard_num: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<Leader>,
    /// How old the map is that this server shows; none where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    replica_age_ms: Option<u128>,
}

/// Who leads it, where there are several servers.
#[derive(Debug, Serialize)]
struct Leader {
    id: String,
    address: String,
}

/// A namespace by itself.
#[derive(Debug, Serialize)]
struct Described {
    name: String,
    frozen: bool,
    shards: usize,
    shards_without_owner: usize,
    shards_in_handover: usize,
    moves: u64,
    max_over_mean: f64,
    spread: f64,
    conditions: Vec<String>,
}

/// One executor.
#[derive(Debug, Serialize)]
struct Host {
    executor_id: String,
    host: String,
    status: &'static str,
    load: f64,
    shards: usize,
    silent_ms: u128,
}

/// The routes of the HTTP port.
pub fn router(services: Services) -> Router {
    Router::new()
        .route("/", get(async || INDEX))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/api/v1/namespaces", get(namespaces))
        .route("/api/v1/namespaces/{name}", get(namespace))
        .route("/api/v1/namespaces/{name}/hosts", get(hosts))
        .with_state(services)
}

async fn ready(State(services): State<Services>) -> Response {
    match not_ready(&services) {
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
        None => "ready\n".into_response(),
    }
}

fn not_ready(services: &Services) -> Option<String> {
    if services.shutdown.is_cancelled() {
        return Some("leaving".to_owned());
    }
    if let Some(servers) = &services.servers {
        if servers.is_leaving() {
            return Some("leaving".to_owned());
        }
        if let Some(ago) = servers.out_of_reach() {
            return Some(format!("etcd has not answered for {ago:.1?}: lookups are still served"));
        }
    }
    let led = services.namespaces.all();
    let failing = led.iter().find(|led| services.metrics.is_store_failing(&led.name))?;
    Some(format!("changes of {} cannot be stored: lookups are still served", failing.name))
}

async fn metrics(State(services): State<Services>) -> Response {
    ([(header::CONTENT_TYPE, OPENMETRICS)], services.metrics.text()).into_response()
}

async fn namespaces(State(services): State<Services>) -> Json<Vec<Row>> {
    let all = services.namespaces.listing.all();
    Json(all.iter().map(|listed| row(&services, listed)).collect())
}

fn row(services: &Services, listed: &Listed) -> Row {
    let (r#type, shard_num) = crate::grpc::kind_of(listed.kind);
    let leader = |it: LedBy| Leader { id: it.server.to_string(), address: it.address.to_string() };
    let is_led = services.namespaces.get(&listed.name).is_some();
    let age = listed.board.age(services.clock.now()).filter(|_| !is_led);
    Row {
        name: listed.name.to_string(),
        r#type,
        shard_num,
        leader: listed.leader().map(leader),
        replica_age_ms: age.map(|age| age.as_millis()),
    }
}

async fn namespace(
    State(services): State<Services>,
    Path(name): Path<String>,
) -> Result<Json<Described>, Missing> {
    let handle = led(&services, &name)?;
    let described = handle.read(|now, it| {
        let (census, balance) = (it.census(), it.balance(now));
        Described {
            name: it.name().to_string(),
            frozen: it.is_frozen(),
            shards: census.shards,
            shards_without_owner: census.unowned,
            shards_in_handover: census.in_handover,
            moves: it.stats().moves,
            max_over_mean: balance.max_over_mean(),
            spread: balance.spread,
            conditions: it.conditions(now),
        }
    });
    let mut described = described.await?;
    let servers = services.servers.iter();
    described.conditions.extend(servers.filter_map(|servers| servers.condition()));
    Ok(Json(described))
}

/// What only the leader can tell.
fn led(services: &Services, name: &str) -> Result<Arc<NamespaceHandle>, Missing> {
    match (services.namespaces.get(name), services.namespaces.listing.get(name)) {
        (Some(handle), _) => Ok(handle),
        (None, Some(listed)) => Err(Missing::LedElsewhere(listed.leader())),
        (None, None) => Err(Missing::Nowhere),
    }
}

async fn hosts(
    State(services): State<Services>,
    Path(name): Path<String>,
) -> Result<Json<Vec<Host>>, Missing> {
    let handle = led(&services, &name)?;
    let hosts = handle.read(|now, it| {
        let loads: std::collections::BTreeMap<Arc<str>, f64> =
            it.host_loads(now).into_iter().collect();
        let host = |e: &plimsoll_ownership::namespace::ExecutorInspection<'_>| Host {
            executor_id: e.id.to_string(),
            host: e.host.to_string(),
            status: e.status,
            load: loads.get(e.id).copied().unwrap_or(0.0),
            shards: e.shards,
            silent_ms: (now - e.last_heard).as_millis(),
        };
        it.executors().iter().map(host).collect()
    });
    Ok(Json(hosts.await?))
}

/// Why there is nothing to tell.
#[derive(Debug)]
enum Missing {
    Nowhere,
    LedElsewhere(Option<LedBy>),
}

impl From<Gone> for Missing {
    fn from(_: Gone) -> Self {
        Self::LedElsewhere(None)
    }
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        let elsewhere = StatusCode::MISDIRECTED_REQUEST;
        match self {
            Self::Nowhere => (StatusCode::NOT_FOUND, "no such namespace: see /api/v1/namespaces\n")
                .into_response(),
            Self::LedElsewhere(Some(leader)) => {
                let (address, server) = (leader.address, leader.server);
                let text = format!(
                    "another server leads it: ask {server}, whose gRPC address is {address}\n"
                );
                (elsewhere, text).into_response()
            }
            Self::LedElsewhere(None) => {
                (StatusCode::SERVICE_UNAVAILABLE, "no server leads it at the moment\n")
                    .into_response()
            }
        }
    }
}
