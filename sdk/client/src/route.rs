//! A tower layer that sends an HTTP request to the owner of its shard.
//!
//! It takes the shard key from the request, looks the owner up, points the URI at
//! the owner's address and hands the request to the service within, which is an
//! HTTP client. An owner that is none any more answers 421 Misdirected Request,
//! perhaps with the header `plimsoll-moved-to`: then the request goes where the
//! shard went, or is held until it is known where that is, if its body is small
//! enough to have been kept. So does one whose connection is refused.
//!
//! It pools no connections, changes no header and repeats nothing else: whether a
//! request may be repeated after another failure is not known here.

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

use crate::moved::{Misdirected, not_here, unreached};
use crate::spectator::Undelivered;
use crate::{BoxError, MOVED_TO, MOVED_TO_EXECUTOR, Owner, Spectator};

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
    ready: S,
    request: Request<B>,
) -> Result<Response<R>, RouteError>
where
    S: Service<Request<RouteBody<B>>, Response = Response<R>> + Clone,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut parcel = Parcel::new(request).await?;
    let is_kept = parcel.is_kept();
    // What the one that is ready has reserved is used up by the first request.
    let (spare, mut ready) = (ready.clone(), Some(ready));
    let mut send = move |owner: Owner| {
        let request = parcel.addressed_to(&owner);
        let mut inner = ready.take().unwrap_or_else(|| spare.clone());
        async move {
            let request = request?;
            poll_fn(|cx| inner.poll_ready(cx)).await.map_err(RouteError::inner)?;
            inner.call(request).await.map_err(RouteError::inner)
        }
    };
    let did_nothing = |answer: &Answer<R>| if is_kept { misdirected(answer) } else { None };
    match spectator.deliver(key, &mut send, did_nothing).await {
        Ok(answer) => answer,
        Err(undelivered) => last_word(undelivered),
    }
}

type Answer<R> = Result<Response<R>, RouteError>;

/// Whether the request did nothing where it was sent.
fn misdirected<R>(answer: &Answer<R>) -> Option<Misdirected> {
    match answer {
        Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => {
            let text = |name| response.headers().get(name).and_then(|text| text.to_str().ok());
            Some(not_here(text(MOVED_TO).unwrap_or_default(), text(MOVED_TO_EXECUTOR)))
        }
        Err(RouteError::Inner(error)) => unreached(&**error),
        // A server that has just started may not know it yet.
        Err(RouteError::NoAddress { .. }) => Some(Misdirected::Unreached),
        Ok(_) | Err(_) => None,
    }
}

/// What the last owner answered is better than that it was given up.
fn last_word<R>(undelivered: Undelivered<Answer<R>>) -> Answer<R> {
    match undelivered {
        Undelivered::Lookup(error) => Err(error.into()),
        Undelivered::GaveUp { last: Some(answer), .. } => answer,
        Undelivered::GaveUp { shard, waited, .. } => Err(RouteError::GaveUp { shard, waited }),
        Undelivered::Full { shard, held } => Err(RouteError::Full { shard, held }),
    }
}

/// A request that can be sent again, if its body was kept.
enum Parcel<B> {
    Kept(Parts, Full<Bytes>),
    /// `None` once it was sent.
    Once(Option<(Parts, B)>),
}

impl<B> Parcel<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    async fn new(request: Request<B>) -> Result<Self, RouteError> {
        let (parts, body) = request.into_parts();
        if is_short(&body) {
            return Ok(Self::Kept(parts, kept(body).await?));
        }
        Ok(Self::Once(Some((parts, body))))
    }

    fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(..))
    }

    fn addressed_to(&mut self, owner: &Owner) -> Result<Request<RouteBody<B>>, RouteError> {
        match self {
            Self::Kept(parts, body) => pointed_at(owner, parts.clone(), Either::Left(body.clone())),
            Self::Once(request) => {
                let (parts, body) = request.take().ok_or(RouteError::Sent)?;
                pointed_at(owner, parts, Either::Right(body))
            }
        }
    }
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
