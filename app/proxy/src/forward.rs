//! The core of the proxy: one request to the service, one answer back.
//!
//! A plain tower service, so that what decides whether a request may pass at all
//! stands around it as a layer. It answers every request, with the service's
//! answer or with a [failure](crate::failure) of its own, and never fails itself.
//! It keeps no body, retries nothing that may have been received, and knows
//! nothing of load.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use plimsoll_qalm::layer::UploadWatch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::body::{Body, Download, Progress, Upload};
use crate::failure::{Failure, is_grpc};
use crate::headers::Rules;
use crate::metrics::{Metrics, Protocol};
use crate::settings::Settings;
use crate::tunnel::Tunnels;
use crate::upstream::{Seat, Upstream};

/// Passes requests on. See the head of this file.
#[derive(Clone, Debug)]
pub struct Forward(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Rules,
    upstream: Upstream,
    body_limit: Option<u64>,
    first_byte: Duration,
    tunnels: Tunnels,
    metrics: Metrics,
    cut: CancellationToken,
}

/// A request on its way.
struct Passing {
    grpc: bool,
    /// Its connection, if it asked for another protocol.
    client: Option<OnUpgrade>,
}

// === impl Forward ===

impl Forward {
    /// `cut` ends what is still in progress; `tasks` holds upgraded connections.
    pub(crate) fn new(
        settings: &Settings,
        metrics: &Metrics,
        cut: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let idle = settings.timeouts.tunnel_idle;
        Self(Arc::new(Inner {
            rules: Rules::new(settings),
            upstream: Upstream::new(settings, metrics),
            body_limit: settings.limits.body,
            first_byte: settings.timeouts.first_byte,
            tunnels: Tunnels::new(idle, metrics.tunnels.clone(), cut.clone(), tasks),
            metrics: metrics.clone(),
            cut,
        }))
    }
}

impl Service<Request<Incoming>> for Forward {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move { Ok(inner.answer(request).await) })
    }
}

impl Inner {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let grpc = is_grpc(request.headers());
        let mut outcome = self.metrics.request(protocol(&request, grpc));
        let open = self.metrics.in_flight.open();
        let asked_at = Instant::now();
        match self.exchange(request, grpc).await {
            Ok((passing, answer, seat)) => {
                outcome.answered(asked_at.elapsed());
                self.pass_back(passing, answer, Box::new((open, seat)))
            }
            Err(failure) => {
                outcome.failed(failure);
                failure.answer(grpc)
            }
        }
    }

    async fn exchange(
        &self,
        mut request: Request<Incoming>,
        grpc: bool,
    ) -> Result<(Passing, Response<Incoming>, Option<Seat>), Failure> {
        let client = hyper::upgrade::on(&mut request);
        let (mut head, body) = request.into_parts();
        let waits_to_be_asked = head.headers.contains_key(EXPECT);
        let watch = head.extensions.remove::<UploadWatch>();
        let (upload, progress) = Upload::new(body, self.body_limit, waits_to_be_asked, watch);
        let upgrade = self.rules.request(&mut head)?;
        if self.is_too_large(&head.headers) {
            return Err(Failure::BodyTooLarge);
        }
        let client = upgrade.then_some(client);
        let request = Request::from_parts(head, upload);
        let (answer, seat) = self.await_head(request, &progress).await?;
        Ok((Passing { grpc, client }, answer, seat))
    }

    /// Whether a body says that it is too large before any of it has come.
    fn is_too_large(&self, headers: &http::HeaderMap) -> bool {
        let Some(limit) = self.body_limit else { return false };
        announced(headers).is_some_and(|length| length > limit)
    }

    /// Waits for the head of the answer, but not forever.
    async fn await_head(
        &self,
        request: Request<Upload>,
        progress: &Progress,
    ) -> Result<(Response<Incoming>, Option<Seat>), Failure> {
        tokio::select! {
            biased;
            answer = self.upstream.send(request) => {
                answer.map_err(|failure| blame(progress).unwrap_or(failure))
            }
            () = silence(progress, self.first_byte) => Err(late(progress, self.first_byte)),
            () = self.cut.cancelled() => Err(Failure::Leaving),
        }
    }

    fn pass_back(
        &self,
        passing: Passing,
        answer: Response<Incoming>,
        held: crate::body::Held,
    ) -> Response<Body> {
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return match passing.client {
                Some(client) => self.switch(client, answer),
                // Nobody asked for it.
                None => Failure::WrongProtocol.answer(passing.grpc),
            };
        }
        let (mut head, body) = answer.into_parts();
        if let Err(failure) = self.rules.answer(&mut head) {
            return failure.answer(passing.grpc);
        }
        let download = Download::new(body, passing.grpc, self.cut.clone(), held);
        Response::from_parts(head, Body::passing(download))
    }

    fn switch(&self, client: OnUpgrade, mut answer: Response<Incoming>) -> Response<Body> {
        let service = hyper::upgrade::on(&mut answer);
        let (mut head, _) = answer.into_parts();
        // What it switches to was asked for by the client, and holds for both hops.
        let protocol = head.headers.remove(UPGRADE);
        if let Err(failure) = self.rules.answer(&mut head) {
            return failure.answer(false);
        }
        let protocol = protocol.unwrap_or(HeaderValue::from_static("websocket"));
        head.headers.insert(UPGRADE, protocol);
        head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        self.tunnels.open(client, service);
        Response::from_parts(head, Body::empty())
    }
}

/// What the body of the request did, if that is why there is no answer.
fn blame(progress: &Progress) -> Option<Failure> {
    if progress.is_too_large() {
        Some(Failure::BodyTooLarge)
    } else if progress.is_broken() {
        Some(Failure::ClientBroke)
    } else {
        None
    }
}

/// Who has not come along in time.
fn late(progress: &Progress, limit: Duration) -> Failure {
    if progress.is_too_slow(limit) { Failure::BodyTooSlow } else { Failure::FirstByteTimeout }
}

/// Ends once no piece of the request was passed on for `limit`, or too little of it.
async fn silence(progress: &Progress, limit: Duration) {
    if limit.is_zero() {
        return std::future::pending().await;
    }
    loop {
        let due = progress.due(limit);
        if due <= Instant::now() {
            return;
        }
        tokio::time::sleep_until(due).await;
    }
}

fn announced(headers: &http::HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn protocol<B>(request: &Request<B>, grpc: bool) -> Protocol {
    match request.version() {
        _ if grpc => Protocol::Grpc,
        Version::HTTP_2 => Protocol::Http2,
        _ => Protocol::Http1,
    }
}
