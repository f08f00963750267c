//! The other port: health, readiness, metrics, and the live state of the queues.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use plimsoll_qalm::layer::DebugService;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// The media type of Prometheus' text format as we write it.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "plimsoll proxy\n\n\
    /healthz   the process runs\n\
    /readyz    it takes requests, and is not about to leave\n\
    /metrics   Prometheus text\n\
    /debug     the live state of every queue\n";

/// What the port shows.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    pub(crate) metrics: Metrics,
    pub(crate) leaving: CancellationToken,
}

/// The routes of the port; `debug` is the page of what stands in front of the
/// service, if anything does.
pub(crate) fn router(admin: Admin, debug: Option<DebugService>) -> Router {
    let routes = Router::new()
        .route("/", get(async || INDEX))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin);
    match debug {
        Some(page) => routes.route_service("/debug", page),
        None => routes,
    }
}

async fn ready(State(admin): State<Admin>) -> Response {
    if admin.leaving.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "leaving\n").into_response();
    }
    "ready\n".into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    ([(header::CONTENT_TYPE, OPENMETRICS)], admin.metrics.text()).into_response()
}
