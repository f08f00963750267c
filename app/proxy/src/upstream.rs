//! The service behind the proxy: one pool of HTTP/1.1 connections and one of
//! HTTP/2 connections, both opened when first needed.
//!
//! A request is sent again only if it certainly was not sent: the pools hand it
//! back when a kept connection turned out to be closed before a byte was written.

mod alarm;
mod dial;
mod fault;
mod greeting;
mod lanes;

use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::body::Upload;
use crate::causes::text;
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::settings::Settings;
use alarm::Alarm;
use dial::Dial;
use lanes::Lanes;
pub(crate) use lanes::Seat;

/// Header fields of an answer over HTTP/1.
const ANSWER_FIELDS: usize = 256;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Upstream {
    one: Client<Dial, Upload>,
    two: Lanes,
    alarm: Alarm,
}

impl Upstream {
    pub(crate) fn new(settings: &Settings, metrics: &Metrics) -> Self {
        let connect = settings.timeouts.connect;
        let one = Dial::new(connect, metrics.upstream_open("http1"));
        let two = Dial::new(connect, metrics.upstream_open("http2"));
        Self {
            one: pool_of_http1(settings, one),
            two: Lanes::new(settings, two),
            alarm: Alarm::new(settings.upstream.authority.as_str()),
        }
    }

    /// Sends a request in its version and waits for the head of the answer. The
    /// seat, over HTTP/2, is kept until the answer's body has ended.
    pub(crate) async fn send(
        &self,
        request: Request<Upload>,
    ) -> Result<(Response<Incoming>, Option<Seat>), Failure> {
        let done = if request.version() == Version::HTTP_2 {
            let done = self.two.send(request).await;
            done.map(|(answer, seat)| (answer, Some(seat))).map_err(|e| (fault::of(&e), text(&e)))
        } else {
            let done = self.one.request(request).await;
            done.map(|answer| (answer, None)).map_err(|e| (fault::of(&e), text(&e)))
        };
        match &done {
            Ok(_) => self.alarm.answered(),
            Err((failure, why)) => self.alarm.failed(*failure, why),
        }
        done.map_err(|(failure, _)| failure)
    }
}

fn pool_of_http1(settings: &Settings, dial: Dial) -> Client<Dial, Upload> {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(settings.timeouts.upstream_idle)
        .http1_max_headers(ANSWER_FIELDS)
        // The rules have written it.
        .set_host(false)
        .build(dial)
}
