//! The layer that tells a callee what a call is worth, and keeps back what the
//! callee would refuse.

use std::future::Future;
use std::hash::RandomState;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, ready};

use http::{HeaderValue, Request, Response};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use plimsoll_shedding::Criticality;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::BoxError;
use super::destination::Destination;
use super::error::{InvalidName, NotSent, Why};
use super::figures::{ClientCounters, ClientFigures};
use super::held::{Advice, Held};
use super::stamp::stamp;
use crate::context::Context;
use crate::headers::Refused;
use crate::jitter::Jitter;

/// Puts a [`Client`] around a service: a tonic `Channel`, a hyper client, anything
/// that takes `http::Request`.
#[derive(Clone, Debug)]
pub struct ClientLayer {
    caller: HeaderValue,
    level: Option<Criticality>,
    keeps_back: bool,
    seed: Option<u64>,
    counters: Arc<ClientCounters>,
}

impl ClientLayer {
    /// `caller` is the name of the service that calls, as in its callees' policies.
    ///
    /// # Errors
    /// A name that no header can carry.
    pub fn new(caller: &str) -> Result<Self, InvalidName> {
        let invalid = || InvalidName(caller.to_owned());
        let caller = HeaderValue::from_str(caller).ok().filter(|it| !it.is_empty());
        Ok(Self {
            caller: caller.ok_or_else(invalid)?,
            level: None,
            keeps_back: true,
            seed: None,
            counters: Arc::default(),
        })
    }

    /// The level of calls that belong to no request. Without it the callee's
    /// policy alone says it, and they are never kept back.
    #[must_use]
    pub fn level(mut self, level: Criticality) -> Self {
        self.level = Some(level);
        self
    }

    /// Sends what would be refused all the same.
    #[must_use]
    pub fn send_everything(mut self) -> Self {
        self.keeps_back = false;
        self
    }

    /// Decides which calls are kept back; different in every process unless said.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What this layer and its clones did so far.
    pub fn figures(&self) -> ClientFigures {
        self.counters.figures()
    }
}

impl<S> Layer<S> for ClientLayer {
    type Service = Client<S>;

    fn layer(&self, inner: S) -> Client<S> {
        let jitter = self.seed.map_or_else(Jitter::default, Jitter::seeded);
        let callees = Arc::new(Callees { jitter, ..Callees::default() });
        Client { inner, layer: self.clone(), callees }
    }
}

/// A service whose callees are told who calls, at which level and for how long.
/// Clones share what they know of the callees.
#[derive(Clone, Debug)]
pub struct Client<S> {
    inner: S,
    layer: ClientLayer,
    callees: Arc<Callees>,
}

/// What is known of the callees.
#[derive(Debug, Default)]
struct Callees {
    /// Something is held: while nothing is, nothing is locked or hashed.
    any: AtomicBool,
    held: Mutex<Held>,
    random: RandomState,
    jitter: Jitter,
}

impl Callees {
    fn advise(&self, destination: &Destination, level: Criticality) -> Advice {
        if level.is_critical() || !self.any.load(Ordering::Relaxed) {
            return Advice::Send;
        }
        let chance = self.jitter.next();
        self.tell(destination, |held, callee, now| held.advise(callee, level, now, chance))
    }

    fn refused(&self, destination: &Destination, refused: &Refused) {
        self.tell(destination, |held, callee, now| held.refused(callee, refused, now));
    }

    fn admitted(&self, destination: &Destination, level: Criticality) {
        if self.any.load(Ordering::Relaxed) {
            self.tell(destination, |held, callee, now| held.admitted(callee, level, now));
        }
    }

    fn tell<T>(
        &self,
        destination: &Destination,
        what: impl FnOnce(&mut Held, u64, Instant) -> T,
    ) -> T {
        let callee = destination.number(&self.random);
        let mut held = self.held.lock();
        let result = what(&mut held, callee, Instant::now());
        self.any.store(!held.is_empty(), Ordering::Relaxed);
        result
    }
}

impl<S> Client<S> {
    /// What to learn from the answer, or why there is no call.
    fn prepare<B>(&self, request: &mut Request<B>) -> Result<Lesson, Why> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let headers = request.headers_mut();
        let level = stamp(headers, &self.layer.caller, Context::current(), self.layer.level)?;
        let destination = Destination::of(method, uri, headers);
        if let Some(level) = level.filter(|_| self.layer.keeps_back)
            && let Advice::KeepBack { admitted, retry_after } =
                self.callees.advise(&destination, level)
        {
            return Err(Why::HeldBack { level, admitted, retry_after });
        }
        let (callees, counters) = (self.callees.clone(), self.layer.counters.clone());
        Ok(Lesson { callees, counters, destination, level })
    }

    fn count(&self, why: Why) {
        match why {
            Why::Expired => self.layer.counters.expired.add(),
            Why::HeldBack { .. } => self.layer.counters.held_back.add(),
        }
    }
}

impl<S, B, R> Service<Request<B>> for Client<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Calling<S::Future>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.prepare(&mut request) {
            Ok(lesson) => {
                self.layer.counters.sent.add();
                Calling::Sent { call: self.inner.call(request), lesson }
            }
            Err(why) => {
                self.count(why);
                Calling::NotSent { why }
            }
        }
    }
}

/// What an answer teaches.
#[derive(Debug)]
struct Lesson {
    callees: Arc<Callees>,
    counters: Arc<ClientCounters>,
    destination: Destination,
    level: Option<Criticality>,
}

impl Lesson {
    fn learn<R>(&self, response: &Response<R>) {
        match (Refused::read(response.headers()), self.level) {
            (Some(refused), _) => {
                self.counters.refused.add();
                self.callees.refused(&self.destination, &refused);
            }
            (None, Some(level)) => self.callees.admitted(&self.destination, level),
            (None, None) => {}
        }
    }
}

pin_project! {
    /// A call under way.
    #[project = Projected]
    #[derive(Debug)]
    pub enum Calling<F> {
        #[doc(hidden)]
        Sent { #[pin] call: F, lesson: Lesson },
        #[doc(hidden)]
        NotSent { why: Why },
    }
}

impl<F, R, E> Future for Calling<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<R>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Sent { call, lesson } => {
                let answer = ready!(call.poll(cx)).map_err(Into::into);
                if let Ok(response) = &answer {
                    lesson.learn(response);
                }
                Poll::Ready(answer)
            }
            Projected::NotSent { why } => Poll::Ready(Err(Box::new(NotSent::new(*why)))),
        }
    }
}
