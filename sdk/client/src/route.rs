//! A tower layer that sends an HTTP request to the owner of its shard.
//!
//! It takes the shard key from the request, looks the owner up, points the URI at
//! the owner's address and hands the request to the service within, which is an
//! HTTP client. An owner that is none any more answers 421 Misdirected Request:
//! then a server is asked who is, and the request goes there, once, if its body
//! is small enough to have been kept.
//!
//! It pools no connections, changes no header and retries nothing else: whether a
//! request may be repeated after a failure is not known here.

mod error;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Either, Full};
use tower_layer::Layer;
use tower_service::Service;

pub use error::RouteError;

use crate::{BoxError, Owner, Spectator};

/// A longer body, or one of unknown length, is passed on as it comes and the
/// request is not repeated.
const KEPT_BODY_BYTES: u64 = 64 * 1024;

/// The body of a routed request: kept, so that it can be sent again, or passed on.
pub type RouteBody<B> = Either<Full<Bytes>, B>;

/// Wraps an HTTP client into a [`Route`].
#[derive(Clone, Debug)]
pub struct RouteLayer<K> {
    spectator: Spectator,
    key: Arc<K>,
}

/// Sends each request to the owner of its shard. The owner is also put into the
/// request's extensions, as an [`Owner`].
#[derive(Clone, Debug)]
pub struct Route<K, S> {
    spectator: Spectator,
    key: Arc<K>,
    inner: S,
}

impl<K> RouteLayer<K> {
    /// `key` takes the shard key from a request: `Fn(&Request<B>) -> Option<String>`.
    pub fn new(spectator: Spectator, key: K) -> Self {
        Self { spectator, key: Arc::new(key) }
    }
}

impl<K, S> Layer<S> for RouteLayer<K> {
    type Service = Route<K, S>;

    fn layer(&self, inner: S) -> Self::Service {
        Route { spectator: self.spectator.clone(), key: Arc::clone(&self.key), inner }
    }
}

impl<K, S, B, R> Service<Request<B>> for Route<K, S>
where
    K: Fn(&Request<B>) -> Option<String>,
    S: Service<Request<RouteBody<B>>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = RouteError;
    type Future = BoxFuture<'static, Result<Response<R>, RouteError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RouteError>> {
        self.inner.poll_ready(cx).map_err(RouteError::inner)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let key = (self.key)(&request);
        let spectator = self.spectator.clone();
        // The one that is ready goes; its clone may not be.
        let unready = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, unready);
        Box::pin(async move {
            let key = key.ok_or(RouteError::NoKey)?;
            route(&spectator, &key, inner, request).await
        })
    }
}

async fn route<S, B, R>(
    spectator: &Spectator,
    key: &str,
    mut inner: S,
    request: Request<B>,
) -> Result<Response<R>, RouteError>
where
    S: Service<Request<RouteBody<B>>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let owner = spectator.lookup(key).await?;
    let (parts, body) = request.into_parts();
    if !is_short(&body) {
        let only = pointed_at(&owner, parts, Either::Right(body))?;
        return inner.call(only).await.map_err(RouteError::inner);
    }
    let body = kept(body).await?;
    let first = pointed_at(&owner, parts.clone(), Either::Left(body.clone()))?;
    let response = inner.call(first).await.map_err(RouteError::inner)?;
    if response.status() != StatusCode::MISDIRECTED_REQUEST {
        return Ok(response);
    }
    let fresh = spectator.lookup_fresh(key).await?;
    if fresh == owner {
        return Ok(response);
    }
    let second = pointed_at(&fresh, parts, Either::Left(body))?;
    poll_fn(|cx| inner.poll_ready(cx)).await.map_err(RouteError::inner)?;
    inner.call(second).await.map_err(RouteError::inner)
}

fn is_short<B: Body>(body: &B) -> bool {
    body.size_hint().upper().is_some_and(|bytes| bytes <= KEPT_BODY_BYTES)
}

async fn kept<B>(body: B) -> Result<Full<Bytes>, RouteError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    match body.collect().await {
        Ok(body) => Ok(Full::new(body.to_bytes())),
        Err(error) => Err(RouteError::Body(error.into())),
    }
}

fn pointed_at<B>(owner: &Owner, mut parts: Parts, body: B) -> Result<Request<B>, RouteError> {
    let no_address = || RouteError::NoAddress { executor: owner.executor_id().to_owned() };
    let address = owner.address().ok_or_else(no_address)?;
    parts.uri = at(address, &parts.uri)
        .map_err(|error| RouteError::BadAddress { address: address.to_owned(), error })?;
    parts.extensions.insert(owner.clone());
    Ok(Request::from_parts(parts, body))
}

/// The same path and query at an address, with or without `http://`.
fn at(address: &str, uri: &Uri) -> Result<Uri, http::Error> {
    let (scheme, authority) = address.split_once("://").unwrap_or(("http", address));
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = authority.trim_end_matches('/');
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_query_stay_and_the_address_is_the_owners() {
        let uri = Uri::from_static("/counters/a?by=2");
        let at = |address| at(address, &uri).unwrap().to_string();
        assert_eq!(at("10.0.0.7:80"), "http://10.0.0.7:80/counters/a?by=2");
        assert_eq!(at("https://h:1/"), "https://h:1/counters/a?by=2");
    }

    #[test]
    fn only_a_short_body_of_known_length_is_kept() {
        let body = |length: usize| Full::new(Bytes::from(vec![0; length]));
        assert!(is_short(&body(64 * 1024)));
        assert!(!is_short(&body(64 * 1024 + 1)));
    }
}
