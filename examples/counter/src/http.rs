//! The HTTP side: answers for the counters that run here, forwards the rest.
//!
//! A forwarded request is answered 421 Misdirected Request by a process that does
//! not run the counter, with where it went, so that it is never forwarded in
//! circles. While a counter is handed over, and for two seconds after a crash, its
//! requests are held by the layer that forwards them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use plimsoll_client::{
    Executor, MOVED_TO, NotHere, Route, RouteBody, RouteError, RouteLayer, Serving, Spectator,
    shard_of,
};
use serde::{Deserialize, Serialize};
use tower::{Layer, ServiceExt};

use crate::counters::Counters;

/// Set on a request that came from another process of this service.
const FORWARDED: &str = "x-counter-forwarded";

type Forward = Route<fn(&Request) -> Option<String>, Client<HttpConnector, RouteBody<Body>>>;

#[derive(Clone)]
struct Service {
    executor: Executor,
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
    let forward = RouteLayer::new(spectator, key).layer(client);
    let service = Service { executor, counters, shards, forward };
    Router::new().route("/counters/{name}", get(counter).post(counter)).with_state(service)
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
        service.answer(&asked).await
    } else {
        service.answer_or_forward(&asked).await
    }
}

impl Service {
    async fn answer_or_forward(&self, asked: &Asked) -> Response {
        if let Ok(serving) = self.executor.try_serve(&asked.shard) {
            return self.count(asked, &serving);
        }
        match self.forward.clone().oneshot(asked.forwarded()).await {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => try_again(),
            Ok(response) => response.map(Body::new),
            Err(error) => refused(&error),
        }
    }

    async fn answer(&self, asked: &Asked) -> Response {
        match self.executor.serve(&asked.shard).await {
            Ok(serving) => self.count(asked, &serving),
            Err(not_here) => elsewhere(&not_here),
        }
    }

    /// The counter stays here as long as it is being served.
    fn count(&self, asked: &Asked, serving: &Serving) -> Response {
        let Asked { shard, name, by, .. } = asked;
        let count = match asked.method {
            Method::POST => self.counters.add(shard, name, *by),
            _ => Ok(self.counters.get(shard, name)),
        };
        match count {
            Ok(Some(count)) => {
                let (name, owner) = (name.clone(), self.executor.id().to_owned());
                Json(Count { name, count, owner, generation: serving.generation() }).into_response()
            }
            Ok(None) => try_again(),
            Err(error) => failed(&error),
        }
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

fn one() -> u64 {
    1
}

fn elsewhere(not_here: &NotHere) -> Response {
    let moved_to = [(MOVED_TO, not_here.header().to_owned())];
    (StatusCode::MISDIRECTED_REQUEST, moved_to, format!("{not_here}\n")).into_response()
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
