//! The handlers of the server, and peers in front of them.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use plimsoll_peers::admission::Admitting;
use plimsoll_peers::{Admission, Asked, Guard, Rejected};
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use tower_service::Service;

use super::{Kind, OPEN, PATHS};
use crate::io::{Service as Waiting, ServicePlan};

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;
type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// What a computing handler computes: about a millisecond, and always the same, so
/// that runs can be compared by their CPU time.
const STEPS: u32 = 700_000;

/// What the server does with a request that is admitted.
#[derive(Clone, Debug)]
pub(super) struct Work {
    kind: Kind,
    waiting: Arc<Waiting>,
}

impl Work {
    pub(super) fn new(kind: Kind) -> Self {
        let waiting = Waiting::new(ServicePlan::default(), 1, tokio::time::Instant::now());
        Self { kind, waiting }
    }

    async fn answer(self, path: String) -> Response<Body> {
        match self.kind {
            Kind::Bare => (),
            _ if path == PATHS[super::HEALTH as usize] => (),
            Kind::Io => self.waiting.handle().await,
            Kind::Cpu => compute(),
        }
        Response::new(if path == OPEN { open() } else { whole() })
    }
}

fn compute() {
    let mut state = 1_u64;
    for _ in 0..STEPS {
        // Knuth's MMIX generator: each step needs the one before.
        let next = state.wrapping_mul(6_364_136_223_846_793_005);
        state = std::hint::black_box(next.wrapping_add(1_442_695_040_888_963_407));
    }
}

fn whole() -> Body {
    Full::new(Bytes::from_static(b"done\n")).boxed_unsync()
}

/// One frame, and then nothing, for ever.
fn open() -> Body {
    let first = stream::iter([Ok(Frame::data(Bytes::from_static(b"first\n")))]);
    StreamBody::new(first.chain(stream::pending())).boxed_unsync()
}

impl Service<Request<Incoming>> for Work {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Answering {
        let (work, path) = (self.clone(), request.uri().path().to_owned());
        Box::pin(async move { Ok(work.answer(path).await) })
    }
}

/// A peer in front of the handlers.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) admission: Arc<dyn Admission>,
    pub(super) work: Work,
}

impl Service<Request<Incoming>> for Peer {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// The shedder is asked now, and not when the future is first polled.
    fn call(&mut self, request: Request<Incoming>) -> Answering {
        let admitting = self.admission.admit(asked(request.uri().path(), request.headers()));
        let (work, path) = (self.work.clone(), request.uri().path().to_owned());
        Box::pin(async move { Ok(admitted(admitting, work, path).await) })
    }
}

async fn admitted(admitting: Admitting, work: Work, path: String) -> Response<Body> {
    match admitting.await {
        Ok(guard) => held(work.answer(path).await, guard),
        Err(rejected) => refusal(rejected),
    }
}

/// The place is held until the answer's body has ended, as a layer would do.
fn held(answer: Response<Body>, guard: Guard) -> Response<Body> {
    answer.map(|body| {
        body.map_frame(move |frame| {
            let _held = &guard;
            frame
        })
        .boxed_unsync()
    })
}

fn refusal(rejected: Rejected) -> Response<Body> {
    let mut answer = Response::new(whole());
    *answer.status_mut() = match rejected {
        Rejected::Shed => StatusCode::SERVICE_UNAVAILABLE,
        Rejected::Expired => StatusCode::GATEWAY_TIMEOUT,
    };
    answer
}

/// What a peer is told: the level from the caller's name, as our policy does it.
fn asked(path: &str, headers: &HeaderMap) -> Asked {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let (level, caller) = super::server::caller(text(plimsoll_qalm::headers::RPC_CALLER));
    let cohort = text(plimsoll_qalm::headers::COHORT).parse().ok().and_then(Cohort::from_number);
    Asked {
        level: level.unwrap_or(Criticality::Feature),
        cohort: cohort.unwrap_or_default(),
        caller,
        endpoint: PATHS.iter().position(|it| *it == path).unwrap_or(0) as u32,
        patience: None,
    }
}
