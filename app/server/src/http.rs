//! The HTTP port: health, metrics, and the state of things as JSON for scripts.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use serde::Serialize;

use crate::driver::Gone;
use crate::grpc::Services;

/// The media type of Prometheus' text format as we write it.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "plimsoll\n\n\
    /healthz                      the process runs\n\
    /readyz                       it can serve\n\
    /metrics                      Prometheus text\n\
    /api/v1/namespaces            namespaces, as JSON\n\
    /api/v1/namespaces/NAME       one, with its balance and conditions\n\
    /api/v1/namespaces/NAME/hosts its executors with their loads\n";

/// A namespace in a list.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    r#type: &'static str,
    shard_num: u32,
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
    if services.shutdown.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "leaving\n").into_response();
    }
    "ready\n".into_response()
}

async fn metrics(State(services): State<Services>) -> Response {
    ([(header::CONTENT_TYPE, OPENMETRICS)], services.metrics.text()).into_response()
}

async fn namespaces(State(services): State<Services>) -> Json<Vec<Listed>> {
    let list = services.namespaces.all().into_iter().map(|handle| {
        let (r#type, shard_num) = crate::grpc::kind_of(handle.kind);
        Listed { name: handle.name.to_string(), r#type, shard_num }
    });
    Json(list.collect())
}

async fn namespace(
    State(services): State<Services>,
    Path(name): Path<String>,
) -> Result<Json<Described>, Missing> {
    let handle = services.namespaces.get(&name).ok_or(Missing)?;
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
    Ok(Json(described.await?))
}

async fn hosts(
    State(services): State<Services>,
    Path(name): Path<String>,
) -> Result<Json<Vec<Host>>, Missing> {
    let handle = services.namespaces.get(&name).ok_or(Missing)?;
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

/// There is no such namespace here.
#[derive(Debug)]
struct Missing;

impl From<Gone> for Missing {
    fn from(_: Gone) -> Self {
        Self
    }
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        (StatusCode::NOT_FOUND, "no such namespace: see /api/v1/namespaces\n").into_response()
    }
}
