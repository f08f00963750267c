//! A request's way through the layer, as a future. Dropping it at any point, by a
//! client that goes away or a handler that panics, gives back what it holds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use plimsoll_shedding::verdict::Refusal;
use tower_service::Service;

use super::answer::Answer;
use super::body::QalmBody;
use super::drain::Drain;
use super::ending::passed;
use super::holds::Hold;
use super::protection::{Entry, Visit};
use super::upload;
use crate::gate::{Place, Waiting};
use crate::handling::Handling;

pin_project! {
    /// The future of a request behind the layer.
    pub struct QalmFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S, B, S::Future>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, B, F> {
        Bypassed { #[pin] future: F },
        Running { #[pin] future: F, running: Option<(Running, Visit)> },
        Waiting { #[pin] waiting: Waiting, parked: Option<Parked<S, B>> },
        Refusing { #[pin] drain: Drain<B>, answer: Answer },
    }
}

/// A handler that runs.
enum Running {
    /// Everything that it was asked is there.
    Alone(Handling),
    /// Its request may still be on its way.
    Receiving(Receiving),
}

/// Gives the place back when the future is dropped, whoever still has the body.
struct Receiving(Arc<Hold>);

impl Drop for Receiving {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// A request that waits, and the service that it is for.
struct Parked<S, B> {
    request: Request<B>,
    inner: S,
    waiter: Waiter,
}

/// Dropped before the verdict was taken: the client went away.
struct Waiter(Option<Visit>);

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(visit) = &self.0 {
            visit.left();
        }
    }
}

impl<S, B> QalmFuture<S, B>
where
    S: Service<Request<B>> + Clone,
    B: Body + 'static,
{
    /// Starts what was decided at once.
    pub(super) fn new(entry: Entry, request: Request<B>, inner: &mut S) -> Self {
        let state = match entry {
            Entry::Bypassed => State::Bypassed { future: inner.call(request) },
            Entry::Admitted(handling, visit) => run(handling, visit, request, inner),
            Entry::Queued(waiting, visit) => {
                // The one that is ready waits; its clone may not be.
                let unready = inner.clone();
                let inner = std::mem::replace(inner, unready);
                let parked = Parked { request, inner, waiter: Waiter(Some(visit)) };
                State::Waiting { waiting, parked: Some(parked) }
            }
            Entry::Refused(answer, bounds) => {
                State::Refusing { drain: Drain::new(request, bounds), answer }
            }
        };
        Self { state }
    }
}

fn run<S, B>(
    handling: Handling,
    visit: Visit,
    mut request: Request<B>,
    inner: &mut S,
) -> State<S, B, S::Future>
where
    S: Service<Request<B>>,
    B: Body + 'static,
{
    visit.tell(request.headers_mut());
    let running = if request.body().is_end_stream() {
        Running::Alone(handling)
    } else {
        let hold = Arc::new(visit.sending(handling));
        upload::watch(&mut request, &hold);
        Running::Receiving(Receiving(hold))
    };
    let future = visit.context.enter(|| inner.call(request));
    State::Running { future, running: Some((running, visit)) }
}

impl Running {
    fn started(&mut self) {
        match self {
            Self::Alone(handling) => handling.started(),
            Self::Receiving(Receiving(hold)) => hold.started(),
        }
    }

    /// The head of the answer is there. `None`: the place was given back before.
    fn answers(self) -> Option<Handling> {
        match self {
            Self::Alone(handling) => Some(handling),
            Self::Receiving(receiving) => receiving.0.take(),
        }
    }
}

impl<S, B> Parked<S, B>
where
    S: Service<Request<B>>,
    B: Body + 'static,
{
    fn decided(mut self, verdict: Result<Place, Refusal>) -> Option<State<S, B, S::Future>> {
        let visit = self.waiter.0.take()?;
        Some(match verdict {
            Ok(place) => run(visit.admitted(place), visit, self.request, &mut self.inner),
            Err(refusal) => {
                let (answer, bounds) = visit.refused(refusal);
                State::Refusing { drain: Drain::new(self.request, bounds), answer }
            }
        })
    }
}

impl<S, B, R> Future for QalmFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Body + 'static,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<QalmBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProjection::Bypassed { future } => {
                    let response = ready!(future.poll(cx))?;
                    return Poll::Ready(Ok(response.map(|body| QalmBody::passed(body, None))));
                }
                StateProjection::Running { future, running } => {
                    let Some((handler, visit)) = running.as_mut() else { return Poll::Pending };
                    handler.started();
                    let response = ready!(visit.context.enter(|| future.poll(cx)));
                    let Some((handler, visit)) = running.take() else { return Poll::Pending };
                    return Poll::Ready(Ok(passed(response?, handler.answers(), &visit)));
                }
                StateProjection::Waiting { waiting, parked } => {
                    let verdict = ready!(waiting.poll(cx));
                    parked.take().and_then(|parked| parked.decided(verdict))
                }
                StateProjection::Refusing { drain, answer } => {
                    ready!(drain.poll(cx));
                    return Poll::Ready(Ok(answer.response().map(QalmBody::said)));
                }
            };
            let Some(next) = next else { return Poll::Pending };
            state.set(next);
        }
    }
}

impl<S: Service<Request<B>>, B> fmt::Debug for QalmFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Bypassed { .. } => "bypassed",
            State::Running { .. } => "running",
            State::Waiting { .. } => "waiting",
            State::Refusing { .. } => "refusing",
        };
        f.debug_struct("QalmFuture").field("state", &state).finish()
    }
}
