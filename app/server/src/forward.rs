//! Any server answers any client: a call that only the leader can answer is passed on
//! to it, as bytes.
//!
//! Stands before the services. It reads as much of a call as says which namespace it
//! is about, and no more; what this server leads, or can answer from its replica, goes
//! on to the services. A call that was passed on once is never passed on again.

mod first;
mod passed;
mod piped;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::service::Routes;
use tower_layer::Layer;

use crate::board::Found;
use crate::election::Elector;
use crate::listing::LedBy;
use crate::metrics::Metrics;
use crate::namespaces::Namespaces;
use crate::peers::{self, Peers};
use first::{Asked, Named, Replayed};

/// Marks a call that was passed on, with the id of the server that did.
const FORWARDED: &str = "plimsoll-forwarded";

/// How long a call waits for a leader to be found.
const LEADER_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Calls that may wait for leaders at a time; more are told to come again.
const WAITING: usize = 10_000;
/// How long the first message of a call may take.
const MESSAGE_WITHIN: Duration = Duration::from_secs(10);

/// Passes calls on.
#[derive(Debug)]
pub struct Forwarder {
    elector: Arc<Elector>,
    namespaces: Arc<Namespaces>,
    peers: Arc<Peers>,
    metrics: Metrics,
    waiting: Semaphore,
}

/// Puts a forwarder before the services; none, if this server is alone.
#[derive(Clone, Debug)]
pub struct ForwardLayer(pub Option<Arc<Forwarder>>);

/// The services behind a forwarder.
#[derive(Clone, Debug)]
pub struct Forward<S> {
    inner: S,
    forwarder: Option<Arc<Forwarder>>,
}

/// All services of this server with the way to the others, for callers in this
/// process.
pub type Local = Forward<Routes>;

/// Who answers a call.
enum Whither {
    Here,
    To(LedBy),
}

impl<S> Layer<S> for ForwardLayer {
    type Service = Forward<S>;

    fn layer(&self, inner: S) -> Forward<S> {
        Forward { inner, forwarder: self.0.clone() }
    }
}

impl<S> Service<http::Request<Body>> for Forward<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let asked = first::asked(request.uri().path());
        match (&self.forwarder, asked) {
            (Some(forwarder), Some(asked)) => {
                // The one that is ready is called; its copy takes its place.
                let copy = self.inner.clone();
                let inner = std::mem::replace(&mut self.inner, copy);
                forwarder.clone().answer(asked, inner, request).boxed()
            }
            _ => self.inner.call(request).boxed(),
        }
    }
}

impl Forwarder {
    /// Passes on what this server does not lead.
    pub fn new(
        elector: Arc<Elector>,
        namespaces: Arc<Namespaces>,
        peers: Arc<Peers>,
        metrics: Metrics,
    ) -> Self {
        Self { elector, namespaces, peers, metrics, waiting: Semaphore::new(WAITING) }
    }

    async fn answer<S>(
        self: Arc<Self>,
        asked: Asked,
        mut inner: S,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, S::Error>
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>>,
    {
        let (head, body) = request.into_parts();
        let replayed = match tokio::time::timeout(MESSAGE_WITHIN, Replayed::read(body)).await {
            Ok(replayed) => replayed,
            Err(_) => {
                let late = Status::invalid_argument("no message came within 10 s");
                return Ok(late.into_http());
            }
        };
        let named = replayed.message().and_then(|message| asked.read(&message));
        let was_forwarded = head.headers.contains_key(FORWARDED);
        let whither = match &named {
            Some(named) => self.whither(named, was_forwarded).await,
            None => Ok(Whither::Here),
        };
        let request = http::Request::from_parts(head, Body::new(replayed));
        match whither {
            Ok(Whither::Here) => inner.call(request).await,
            Ok(Whither::To(leader)) => Ok(self.pass_on(asked, named, leader, request).await),
            Err(status) => Ok(status.into_http()),
        }
    }

    async fn whither(&self, named: &Named, was_forwarded: bool) -> Result<Whither, Status> {
        if let Some(found) = self.whither_now(named, was_forwarded)? {
            return Ok(found);
        }
        let Ok(_waiting) = self.waiting.try_acquire() else { return Err(nobody_leads(named)) };
        let end = tokio::time::Instant::now() + LEADER_WITHIN;
        while tokio::time::Instant::now() < end {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Some(found) = self.whither_now(named, was_forwarded)? {
                return Ok(found);
            }
        }
        match self.namespaces.listing.get(&named.namespace) {
            Some(_) => Err(nobody_leads(named)),
            // What is led but not there was deleted: the services say so.
            None => Ok(Whither::Here),
        }
    }

    /// `None`: nobody leads the namespace, or nobody knows who does.
    fn whither_now(&self, named: &Named, was_forwarded: bool) -> Result<Option<Whither>, Status> {
        if self.namespaces.get(&named.namespace).is_some() {
            return Ok(Some(Whither::Here));
        }
        let Some(listed) = self.namespaces.listing.get(&named.namespace) else {
            // Nobody leads what does not exist; what was made a moment ago is led, and
            // will be on the list.
            let is_led = self.elector.view().leaders.contains_key(named.namespace.as_str());
            return Ok((!is_led).then_some(Whither::Here));
        };
        let is_known = named
            .looks_up
            .as_ref()
            .is_some_and(|key| matches!(listed.board.find(key), Found::Owner(_) | Found::Drained));
        if is_known {
            return Ok(Some(Whither::Here));
        }
        // One that was won and is still being loaded is waited for.
        if was_forwarded && !self.elector.leads(&named.namespace) {
            return Err(Status::unavailable(format!(
                "{} is not led by this server any more: try again",
                named.namespace
            )));
        }
        let leader = listed.leader().filter(|leader| leader.server != self.elector.me);
        Ok(leader.map(Whither::To))
    }

    async fn pass_on(
        &self,
        asked: Asked,
        named: Option<Named>,
        leader: LedBy,
        mut request: http::Request<Body>,
    ) -> http::Response<Body> {
        if let Ok(me) = self.elector.me.parse() {
            request.headers_mut().insert(FORWARDED, me);
        }
        let used = match self.peers.to(&leader.address) {
            Ok(used) => used,
            Err(error) => return Status::internal(error.to_string()).into_http(),
        };
        self.metrics.forwarded();
        let answered = async {
            let mut channel = used.channel.clone();
            std::future::poll_fn(|context| channel.poll_ready(context)).await?;
            channel.call(request).await
        };
        match answered.await {
            Ok(answer) if asked == Asked::Session => {
                let leaders = named.and_then(|it| self.namespaces.listing.get(&it.namespace));
                let leaders = leaders.map(|listed| listed.leaders());
                piped::session(answer, leaders, leader.epoch, used, self.metrics.session())
            }
            Ok(answer) => passed::whole(answer, used),
            Err(error) => {
                let (elector, address) = (self.elector.clone(), leader.address.clone());
                let server = leader.server.clone();
                tokio::spawn(async move {
                    if peers::refuses(&address).await {
                        elector.refuses(&server);
                    }
                });
                tracing::debug!(leader = %leader.server, %error, "a call could not be passed on");
                Status::unavailable(format!(
                    "the leader at {} does not answer: try again",
                    leader.address
                ))
                .into_http()
            }
        }
    }
}

fn nobody_leads(named: &Named) -> Status {
    Status::unavailable(format!("no server leads {} at the moment: try again", named.namespace))
}
