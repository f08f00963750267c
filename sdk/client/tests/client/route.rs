use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use plimsoll_client::{
    BoxError, MOVED_TO, Owner, RouteBody, RouteError, RouteLayer, Spectator, SpectatorBuilder,
};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::spectator::Set;

/// What owners were asked: address, path and body.
type Asked = Arc<Mutex<Vec<(String, String, Bytes)>>>;

#[tokio::test]
async fn a_request_goes_to_the_owner_of_its_shard() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    let response = routed(&set.spectator, &asked).oneshot(post("/1?by=2", "body")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(*asked.lock().unwrap(), [ask("a:80", "/1?by=2", "body")]);
}

#[tokio::test]
async fn an_owner_that_is_none_any_more_leads_to_the_one_that_a_server_names() {
    let mut set = Set::up(&[("1", "old", 7)]).await;
    let asked = Asked::default();
    let answer = async { set.fake.lookup().await.answer("new", 8) };
    let (response, ()) =
        tokio::join!(routed(&set.spectator, &asked).oneshot(post("/1", "body")), answer);
    assert_eq!(response.unwrap().status(), StatusCode::OK);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.first(), Some(&ask("old:80", "/1", "body")));
    assert_eq!(asked.last(), Some(&ask("new:80", "/1", "body")));
}

#[tokio::test]
async fn a_moved_shard_is_followed_to_where_its_owner_says_it_went() {
    let mut set = Set::up(&[("1", "moved", 7)]).await;
    let asked = Asked::default();
    let response = routed(&set.spectator, &asked).oneshot(post("/1", "body")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(*asked.lock().unwrap(), [ask("moved:80", "/1", "body"), ask("b:80", "/1", "body")]);
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn what_the_owner_answers_to_the_last_is_the_answer() {
    let hold = |builder: SpectatorBuilder| builder.hold_within(Duration::from_millis(20));
    let set = Set::up_as(&[("1", "old", 7)], hold).await;
    let asked = Asked::default();
    let response = routed(&set.spectator, &asked).oneshot(post("/1", "")).await.unwrap();
    assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn a_body_that_was_not_kept_is_not_sent_twice() {
    let mut set = Set::up(&[("1", "old", 7)]).await;
    let asked = Asked::default();
    let frame = http_body::Frame::data(Bytes::from_static(b"endless"));
    let body = StreamBody::new(futures::stream::iter([Ok::<_, Infallible>(frame)]));
    let request = Request::post("/1").body(body.boxed()).unwrap();
    let layer = RouteLayer::new(set.spectator.clone(), key);
    let response = layer.layer(service_fn(owner(&asked))).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST);
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_request_without_a_key_goes_nowhere() {
    let set = Set::up(&[]).await;
    let asked = Asked::default();
    let refused = routed(&set.spectator, &asked).oneshot(post("/", "")).await.unwrap_err();
    assert!(matches!(refused, RouteError::NoKey));
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert_eq!(*asked.lock().unwrap(), []);
}

fn routed(
    spectator: &Spectator,
    asked: &Asked,
) -> impl Service<Request<Full<Bytes>>, Response = Response<()>, Error = RouteError> + use<> {
    RouteLayer::new(spectator.clone(), key).layer(service_fn(owner(asked)))
}

fn key<B>(request: &Request<B>) -> Option<String> {
    Some(request.uri().path().trim_matches('/').to_owned()).filter(|key| !key.is_empty())
}

/// Answers for all owners: "old" is none any more, "moved" knows who is.
fn owner<B>(
    asked: &Asked,
) -> impl Fn(
    Request<RouteBody<B>>,
) -> futures::future::BoxFuture<'static, Result<Response<()>, Infallible>>
+ Clone
+ use<B>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Debug + Into<BoxError> + Send,
{
    let asked = Arc::clone(asked);
    move |request| {
        let asked = Arc::clone(&asked);
        Box::pin(async move {
            let named = request.extensions().get::<Owner>().unwrap().executor_id().to_owned();
            let uri = request.uri().clone();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let (at, path) = (uri.authority().unwrap(), uri.path_and_query().unwrap());
            asked.lock().unwrap().push((at.to_string(), path.to_string(), body));
            let response = Response::builder().status(match named.as_str() {
                "old" | "moved" => StatusCode::MISDIRECTED_REQUEST,
                _ => StatusCode::OK,
            });
            let response = match named.as_str() {
                "moved" => response.header(MOVED_TO, "http://b:80"),
                _ => response,
            };
            Ok(response.body(()).unwrap())
        })
    }
}

fn post(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(path).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

fn ask(at: &str, path: &str, body: &'static str) -> (String, String, Bytes) {
    (at.to_owned(), path.to_owned(), Bytes::from_static(body.as_bytes()))
}
