//! The layer that repeats refused calls.
//!
//! Only what a callee refused by `x-shed-reason` is repeated: its handler never
//! saw it, so that to repeat it is safe whatever it does. An error, a lost
//! connection or a bare 503 says nothing of the kind and is passed on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use http::{Request, Response};
use parking_lot::Mutex;
use plimsoll_shedding::policy::Trust;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::backoff;
use super::budget::Budget;
use super::figures::{RetryCounters, RetryFigures};
use super::replay::Replayable;
use crate::context::Context;
use crate::headers::{BadHeaders, Incoming, Refused};
use crate::jitter::Jitter;

/// Repetitions for a second at least, where calls are too few to earn any.
const FLOOR: f64 = 1.0;

/// Puts a [`Retry`] around a service. By default a refused call is made twice more
/// at most, all repetitions together are at most a tenth of the calls, no wait is
/// longer than two seconds, and bodies of up to 64 KiB are kept for it.
#[derive(Clone, Debug)]
pub struct RetryLayer {
    settings: Settings,
    counters: Arc<RetryCounters>,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    attempts: u32,
    ratio: f64,
    longest_wait: Duration,
    body_bound: usize,
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl RetryLayer {
    /// The defaults.
    pub fn new() -> Self {
        let settings = Settings {
            attempts: 2,
            ratio: 0.1,
            longest_wait: Duration::from_secs(2),
            body_bound: 64 << 10,
        };
        Self { settings, counters: Arc::default() }
    }

    /// Repetitions of one call at most.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.settings.attempts = attempts;
        self
    }

    /// Repetitions of all calls together, as a part of the calls: 0 to 1. Above 0,
    /// one a second is allowed however few calls there are.
    #[must_use]
    pub fn budget(mut self, ratio: f64) -> Self {
        self.settings.ratio = if ratio.is_finite() { ratio.clamp(0.0, 1.0) } else { 0.0 };
        self
    }

    /// A callee that wants a longer wait is not called again.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.settings.longest_wait = wait;
        self
    }

    /// Bodies that are longer, in bytes, are not sent again.
    #[must_use]
    pub fn body_bound(mut self, bytes: usize) -> Self {
        self.settings.body_bound = bytes;
        self
    }

    /// What this layer and its clones did so far.
    pub fn figures(&self) -> RetryFigures {
        self.counters.figures()
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Retry<S> {
        let budget = Budget::new(self.settings.ratio, FLOOR, Instant::now());
        let shared = Shared {
            settings: self.settings,
            counters: self.counters.clone(),
            budget: Mutex::new(budget),
            jitter: Jitter::default(),
        };
        Retry { inner, shared: Arc::new(shared) }
    }
}

/// A service that repeats refused calls. Clones share the budget.
#[derive(Clone, Debug)]
pub struct Retry<S> {
    inner: S,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    counters: Arc<RetryCounters>,
    budget: Mutex<Budget>,
    jitter: Jitter,
}

impl Shared {
    fn call(&self) {
        self.counters.calls.add();
        self.budget.lock().call();
    }

    /// How long to wait before the call is made again; `None`: the answer stands.
    fn wait<R>(
        &self,
        response: &Response<R>,
        attempt: u32,
        ends: Option<Instant>,
    ) -> Option<Duration> {
        let refused = Refused::read(response.headers())?;
        if attempt >= self.settings.attempts {
            return None;
        }
        let wait = backoff::wait(&refused, attempt, self.jitter.next())?;
        let again_at = Instant::now().checked_add(wait);
        let in_time = ends.is_none_or(|ends| again_at.is_some_and(|at| at < ends));
        (in_time && wait <= self.settings.longest_wait).then_some(wait)
    }

    /// Whether the budget has one left.
    fn withdraw(&self) -> bool {
        let allowed = self.budget.lock().withdraw(Instant::now());
        if allowed {
            self.counters.retries.add()
        } else {
            self.counters.over_budget.add()
        }
        allowed
    }
}

impl<S, B, R> Service<Request<B>> for Retry<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Replayable + Send + 'static,
    B::Tape: Send + Sync,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready makes the call; a new one takes its place.
        let fresh = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, fresh);
        Box::pin(call(inner, self.shared.clone(), request))
    }
}

async fn call<S, B, R>(
    mut inner: S,
    shared: Arc<Shared>,
    request: Request<B>,
) -> Result<Response<R>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Replayable,
{
    shared.call();
    let (parts, body) = request.into_parts();
    let ends = ends(&parts.headers);
    let (body, tape) = body.tape(shared.settings.body_bound);
    let mut response = inner.call(Request::from_parts(parts.clone(), body)).await?;
    for attempt in 0.. {
        let Some(wait) = shared.wait(&response, attempt, ends) else { break };
        let Some(body) = B::again(&tape) else { break };
        if !shared.withdraw() {
            break;
        }
        tokio::time::sleep(wait).await;
        std::future::poll_fn(|cx| inner.poll_ready(cx)).await?;
        response = inner.call(Request::from_parts(parts.clone(), body)).await?;
    }
    Ok(response)
}

/// When nobody waits for the answer any more.
fn ends(headers: &http::HeaderMap) -> Option<Instant> {
    let said = Incoming::read(headers, Trust::default(), &BadHeaders::default()).patience;
    let given = Context::current().and_then(|it| it.deadline);
    [said.map(|it| Instant::now() + it), given].into_iter().flatten().min()
}
