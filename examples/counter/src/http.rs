//! The HTTP side: answers for the counters that run here, forwards the rest.
//!
//! A forwarded request is answered 421 Misdirected Request by a process that does
//! not own the counter, so that it is never forwarded in circles. In a handover
//! nobody owns it for some milliseconds, after a crash for two seconds: then the
//! request waits for the map to change, and only if that takes too long is it
//! answered 503.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use plimsoll_client::{Executor, Route, RouteBody, RouteError, RouteLayer, Spectator, shard_of};
use serde::{Deserialize, Serialize};
use tower::{Layer, ServiceExt};

use crate::counters::Counters;

/// Set on a request that came from another process of this service.
const FORWARDED: &str = "x-counter-forwarded";
/// How often a request is tried while its counter is handed over.
const TRIES: u32 = 6;
/// How long each of these waits for the map to change.
const HANDOVER: Duration = Duration::from_millis(500);

type Forward = Route<fn(&Request) -> Option<String>, Client<HttpConnector, RouteBody<Body>>>;

#[derive(Clone)]
struct Service {
    executor: Executor,
    spectator: Spectator,
    counters: Arc<Counters>,
    /// Of a fixed namespace.
    shards: Option<u32>,
    forward: Forward,
}

/// A request as it is answered here or forwarded. It has no body.
struct Asked {
    method: Method,
    uri: Uri,
    shard: String,
    name: String,
    by: u64,
}

/// The shard of a forwarded request, for the layer that forwards it.
#[derive(Clone)]
struct ShardKey(String);

#[derive(Deserialize)]
struct By {
    #[serde(default = "one")]
    by: u64,
}

#[derive(Serialize)]
struct Count {
    name: String,
    count: u64,
    /// The process that counts.
    owner: String,
    generation: u64,
}

pub(crate) fn service(
    executor: Executor,
    spectator: Spectator,
    counters: Arc<Counters>,
    shards: Option<u32>,
) -> Router {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let key: fn(&Request) -> Option<String> = shard_key;
    let forward = RouteLayer::new(spectator.clone(), key).layer(client);
    Router::new().route("/counters/{name}", get(counter).post(counter)).with_state(Service {
        executor,
        spectator,
        counters,
        shards,
        forward,
    })
}

async fn counter(
    State(service): State<Service>,
    Path(name): Path<String>,
    Query(By { by }): Query<By>,
    request: Request,
) -> Response {
    let shard = match service.shards {
        Some(shards) => shard_of(&name, shards),
        None => name.clone(),
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let asked = Asked { method, uri, shard, name, by };
    if request.headers().contains_key(FORWARDED) {
        service.answer(&asked).unwrap_or_else(not_mine)
    } else {
        service.answer_or_forward(&asked).await
    }
}

impl Service {
    async fn answer_or_forward(&self, asked: &Asked) -> Response {
        for _ in 0..TRIES {
            let mut changes = self.spectator.changes();
            if let Some(response) = self.answer(asked) {
                return response;
            }
            match self.forward.clone().oneshot(asked.forwarded()).await {
                Ok(response) if response.status() != StatusCode::MISDIRECTED_REQUEST => {
                    return response.map(Body::new);
                }
                Err(error) if !may_pass(&error) => return refused(&error),
                Ok(_) | Err(_) => {
                    let _ = tokio::time::timeout(HANDOVER, changes.changed()).await;
                }
            }
        }
        try_again()
    }

    /// `None` if the counter does not run here at this instant.
    fn answer(&self, asked: &Asked) -> Option<Response> {
        let generation = self.executor.owns(&asked.shard)?.generation;
        let count = match asked.method {
            Method::POST => match self.counters.add(&asked.shard, &asked.name, asked.by) {
                Ok(count) => count?,
                Err(error) => return Some(failed(&error)),
            },
            _ => self.counters.get(&asked.shard, &asked.name)?,
        };
        let owner = self.executor.id().to_owned();
        Some(Json(Count { name: asked.name.clone(), count, owner, generation }).into_response())
    }
}

impl Asked {
    fn forwarded(&self) -> Request {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
        request.extensions_mut().insert(ShardKey(self.shard.clone()));
        request
    }
}

fn shard_key(request: &Request) -> Option<String> {
    request.extensions().get().map(|ShardKey(shard)| shard.clone())
}

/// Whether the request did no harm and may succeed when the map has changed. That
/// nobody listens at the owner's address means that the owner has just died.
fn may_pass(error: &RouteError) -> bool {
    match error {
        RouteError::Inner(error) => {
            error.downcast_ref().is_some_and(hyper_util::client::legacy::Error::is_connect)
        }
        other => other.status() == StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn one() -> u64 {
    1
}

fn not_mine() -> Response {
    (StatusCode::MISDIRECTED_REQUEST, "this process does not run the counter\n").into_response()
}

fn try_again() -> Response {
    let later = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, later, "nobody runs the counter now\n").into_response()
}

fn refused(error: &RouteError) -> Response {
    (error.status(), format!("{error}\n")).into_response()
}

fn failed(error: &anyhow::Error) -> Response {
    tracing::error!(error = %format!("{error:#}"), "a counter could not be kept");
    (StatusCode::INTERNAL_SERVER_ERROR, "the counter could not be kept\n").into_response()
}
