//! A reverse proxy in a page: the key from the request, `RouteLayer` around an
//! HTTP client, and the answer passed back.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Version, header};
use axum::response::{IntoResponse, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use plimsoll_client::{RouteError, RouteLayer, Spectator, shard_of};
use tower::{Layer, ServiceExt};

/// What belongs to one connection and is not passed on.
const HOP_BY_HOP: [header::HeaderName; 6] = [
    header::CONNECTION,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Where the shard key of a request is.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// Goes before the path.
    pub(crate) header: String,
    /// Counted from 1.
    pub(crate) segment: usize,
    /// Of a fixed namespace.
    pub(crate) shards: Option<u32>,
}

pub(crate) fn service(spectator: Spectator, keys: Keys) -> Router {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let owners = RouteLayer::new(spectator, move |request: &Request| keys.shard(request));
    let owners = owners.layer(client);
    Router::new().fallback(|request: Request| async move {
        match owners.oneshot(without_connection(request)).await {
            Ok(mut response) => {
                remove_hop_by_hop(response.headers_mut());
                response.map(Body::new)
            }
            Err(error) => refused(&error),
        }
    })
}

impl Keys {
    fn shard(&self, request: &Request) -> Option<String> {
        let key = self.in_header(request).or_else(|| self.in_path(request))?;
        Some(match self.shards {
            Some(shards) => shard_of(key, shards),
            None => key.to_owned(),
        })
    }

    fn in_header<'a>(&self, request: &'a Request) -> Option<&'a str> {
        request.headers().get(&self.header)?.to_str().ok()
    }

    fn in_path<'a>(&self, request: &'a Request) -> Option<&'a str> {
        request.uri().path().split('/').nth(self.segment).filter(|key| !key.is_empty())
    }
}

fn without_connection(mut request: Request) -> Request {
    remove_hop_by_hop(request.headers_mut());
    *request.version_mut() = Version::HTTP_11;
    request
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

fn refused(error: &RouteError) -> Response {
    tracing::debug!(%error, "not routed");
    (error.status(), format!("{error}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys = Keys { header: String::new(), segment: 2, shards: None };

    #[test]
    fn the_key_is_in_the_header_or_else_in_the_path() {
        let keys = Keys { header: "x-shard-key".into(), ..KEYS };
        let plain = Request::get("/counters/a/history").body(Body::empty()).unwrap();
        assert_eq!(keys.shard(&plain).as_deref(), Some("a"));
        let named = Request::get("/counters/a").header("x-shard-key", "b");
        assert_eq!(keys.shard(&named.body(Body::empty()).unwrap()).as_deref(), Some("b"));
        let neither = Request::get("/").body(Body::empty()).unwrap();
        assert_eq!(keys.shard(&neither), None);
    }

    #[test]
    fn a_fixed_namespace_has_numbered_shards() {
        let keys = Keys { header: "x-shard-key".into(), shards: Some(8), ..KEYS };
        let request = Request::get("/counters/a").body(Body::empty()).unwrap();
        assert_eq!(keys.shard(&request), Some(shard_of("a", 8)));
    }
}
