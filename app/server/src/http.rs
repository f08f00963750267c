//! The HTTP port: health, metrics, and the state of things as JSON for scripts.
//!
//! What only the leader of a namespace can tell is asked of this server's own gRPC
//! services, which pass it on: so there is one way to the leader, and any server
//! answers.

mod guard;
mod log_filter;
mod policies;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use plimsoll_wire::{MAX_MESSAGE_BYTES, v1};
use serde::Serialize;
use tonic::{Code, Status};

pub use guard::Guard;

use crate::forward::Local;
use crate::grpc::Services;
use crate::listing::{LedBy, Listed};

/// The media type of Prometheus' text format as we write it.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What "/" says to who does not ask for HTML.
pub(crate) const INDEX: &str = "plimsoll\n\n\
    /healthz                      the process runs\n\
    /readyz                       it can serve\n\
    /metrics                      Prometheus text\n\
    /api/v1/namespaces            namespaces and who leads them, as JSON\n\
    /api/v1/namespaces/NAME       one, with its balance and conditions\n\
    /api/v1/namespaces/NAME/hosts its executors with their loads\n\
    /api/v1/policies              services, their policies and what their instances see\n\
    /api/v1/policies/SERVICE      its policy: GET, or PUT with If-Match\n\
                    .../history   who changed what\n\
                    .../traffic   what its instances saw in the last ten minutes\n\
                    .../preview   POST: what a text would have done with that\n\
    /api/v1/log-filter            what is logged; PUT, on this machine, changes it\n";

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
    shards: u64,
    shards_without_owner: u64,
    shards_in_handover: u64,
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
    status: String,
    load: f64,
    shards: u64,
    silent_ms: u64,
}

/// An operator in this process, on its own services.
type Admin = AdminServiceClient<Local>;

/// What the pages need.
#[derive(Clone)]
struct Shared {
    services: Services,
    admin: Admin,
}

impl FromRef<Shared> for Services {
    fn from_ref(shared: &Shared) -> Self {
        shared.services.clone()
    }
}

impl FromRef<Shared> for Admin {
    fn from_ref(shared: &Shared) -> Self {
        shared.admin.clone()
    }
}

/// The routes of the HTTP port beside the console's. They are served with the address
/// of whoever asks.
pub fn router(services: Services, local: Local, guard: Guard) -> Router {
    let admin = Admin::new(local).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let policies = policies::Shared { services: services.clone(), guard: Arc::new(guard) };
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/api/v1/namespaces", get(namespaces))
        .route("/api/v1/namespaces/{name}", get(namespace))
        .route("/api/v1/namespaces/{name}/hosts", get(hosts))
        .merge(policies::router().with_state(policies))
        .merge(log_filter::router())
        .with_state(Shared { services, admin })
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
    State(mut admin): State<Admin>,
    Path(name): Path<String>,
) -> Result<Json<Described>, Untold> {
    let described = admin.describe_namespace(v1::DescribeNamespaceRequest { name }).await?;
    Ok(Json(described.into_inner().into()))
}

impl From<v1::DescribeNamespaceResponse> for Described {
    fn from(it: v1::DescribeNamespaceResponse) -> Self {
        let balance = it.balance.unwrap_or_default();
        Self {
            name: it.name,
            frozen: it.frozen,
            shards: it.shards,
            shards_without_owner: it.shards_without_owner,
            shards_in_handover: it.shards_in_handover,
            moves: it.moves,
            max_over_mean: balance.max_over_mean,
            spread: balance.spread,
            conditions: it.conditions,
        }
    }
}

async fn hosts(
    State(mut admin): State<Admin>,
    Path(namespace): Path<String>,
) -> Result<Json<Vec<Host>>, Untold> {
    let request = v1::GetLoadsRequest { namespace, ..v1::GetLoadsRequest::default() };
    let loads = admin.get_loads(request).await?.into_inner();
    Ok(Json(loads.executors.into_iter().map(Host::from).collect()))
}

impl From<v1::ExecutorLoad> for Host {
    fn from(it: v1::ExecutorLoad) -> Self {
        Self {
            executor_id: it.executor_id,
            host: it.host,
            status: it.status,
            load: it.load,
            shards: it.shards,
            silent_ms: it.silent_ms,
        }
    }
}

/// Why there is nothing to tell.
#[derive(Debug)]
struct Untold(Status);

impl From<Status> for Untold {
    fn from(status: Status) -> Self {
        Self(status)
    }
}

impl IntoResponse for Untold {
    fn into_response(self) -> Response {
        let why = self.0.message();
        match self.0.code() {
            Code::NotFound => (StatusCode::NOT_FOUND, format!("{why}: see /api/v1/namespaces\n")),
            Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")),
        }
        .into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_come_back_is_told_from_what_is_not_there() {
        let code = |status: Status| Untold(status).into_response().status().as_u16();
        assert_eq!(code(Status::not_found("x")), 404);
        assert_eq!(code(Status::unavailable("x")), 503);
        assert_eq!(code(Status::internal("x")), 500);
    }
}
