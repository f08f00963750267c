//! The client: HTTP/2 over a few connections, open loop or closed.

use std::net::Ipv4Addr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use plimsoll_peers::Asked;
use plimsoll_qalm::headers;
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{OPEN, PATHS, pin, server};
use crate::load::Arrival;
use crate::record::{Fate, Record, unfinished};

type Sender = SendRequest<Empty<Bytes>>;

/// As [`crate::io::open_loop`], over sockets. Says when time 0 is.
pub(super) fn open_loop(
    port: u16,
    connections: usize,
    arrivals: &[Arrival],
    drain: Duration,
    say: &mpsc::Sender<std::time::Instant>,
) -> Result<Vec<Record>> {
    pin::this_client();
    let client = Client::connect(port, connections)?;
    let origin = origin(arrivals);
    // Nobody listens if nothing is to be done to the server.
    let _ = say.send(origin.into_std());
    Ok(client.runtime.block_on(send_all(&client.senders, arrivals, origin, drain)))
}

/// A client whose connections last.
pub(super) struct Client {
    runtime: Runtime,
    senders: Vec<Sender>,
}

impl Client {
    pub(super) fn connect(port: u16, connections: usize) -> Result<Self> {
        let runtime = runtime()?;
        let senders = runtime.block_on(connect(port, connections))?;
        Ok(Self { runtime, senders })
    }

    /// Sends every arrival at its time, the first at once.
    pub(super) fn send(&self, arrivals: &[Arrival], drain: Duration) -> Vec<Record> {
        let sent = send_all(&self.senders, arrivals, origin(arrivals), drain);
        self.runtime.block_on(sent)
    }
}

/// Time 0, if the first is sent now; now, if that is after it.
fn origin(arrivals: &[Arrival]) -> Instant {
    let before = arrivals.first().map_or(0.0, |first| (-first.at).max(0.0));
    Instant::now() + Duration::from_secs_f64(before)
}

fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("cannot start a runtime")
}

async fn connect(port: u16, connections: usize) -> Result<Vec<Sender>> {
    let mut senders = Vec::with_capacity(connections);
    for _ in 0..connections {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        socket.set_nodelay(true)?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_max_send_streams(100_000);
        let (sender, connection) = builder.handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        senders.push(sender);
    }
    Ok(senders)
}

async fn send_all(
    senders: &[Sender],
    arrivals: &[Arrival],
    origin: Instant,
    drain: Duration,
) -> Vec<Record> {
    let records: Vec<_> = arrivals.iter().map(unfinished).collect();
    let records = Arc::new(Mutex::new(records));
    let (under_way, mut all_ended) = tokio::sync::mpsc::channel::<()>(1);
    let mut tasks = JoinSet::new();
    for (index, arrival) in arrivals.iter().enumerate() {
        let due = crate::io::moment(origin, arrival.at);
        if due > Instant::now() {
            tokio::time::sleep_until(due).await;
        }
        let sender = senders[index % senders.len()].clone();
        let (arrival, records, under_way) = (*arrival, records.clone(), under_way.clone());
        tasks.spawn(async move {
            let (record, open) = call(sender, arrival, due).await;
            records.lock()[index] = record;
            drop(under_way);
            if let Some(body) = open {
                std::future::pending::<()>().await;
                drop(body);
            }
        });
        while tasks.try_join_next().is_some() {}
    }
    drop(under_way);
    // What has not ended by then is unfinished.
    drop(tokio::time::timeout(drain, all_ended.recv()).await);
    tasks.abort_all();
    std::mem::take(&mut *records.lock())
}

/// One request; the body comes back if the answer stays open.
async fn call(
    mut sender: Sender,
    arrival: Arrival,
    due: Instant,
) -> (Record, Option<hyper::body::Incoming>) {
    let called = Instant::now();
    let (fate, open) = match sender.send_request(request(&arrival)).await {
        Ok(answer) => {
            let fate = fate(answer.status());
            let body = answer.into_body();
            if arrival.stays_open && fate == Fate::Answered {
                (fate, Some(body))
            } else {
                (if body.collect().await.is_ok() { fate } else { Fate::Failed }, None)
            }
        }
        Err(_) => (Fate::Failed, None),
    };
    let now = Instant::now();
    let record = Record {
        fate,
        latency_ms: millis(now - due),
        decided_ms: millis(now - called),
        lag_ms: millis(called.saturating_duration_since(due)),
        ..unfinished(&arrival)
    };
    (record, open)
}

fn request(arrival: &Arrival) -> Request<Empty<Bytes>> {
    let Asked { level, cohort, caller, endpoint, .. } = arrival.asked;
    let path = if arrival.stays_open { OPEN } else { PATHS[endpoint as usize % PATHS.len()] };
    let mut request = Request::new(Empty::new());
    let uri = http::Uri::builder().scheme("http").authority("localhost").path_and_query(path);
    *request.uri_mut() = uri.build().unwrap_or_default();
    let name = server::name(level, caller).parse();
    let map = request.headers_mut();
    map.extend(name.ok().map(|it| (http::HeaderName::from_static(headers::RPC_CALLER), it)));
    let number = http::HeaderValue::from(u16::from(cohort.number()));
    map.insert(http::HeaderName::from_static(headers::COHORT), number);
    request
}

fn fate(status: StatusCode) -> Fate {
    match status {
        StatusCode::OK => Fate::Answered,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Fate::Shed,
        StatusCode::GATEWAY_TIMEOUT => Fate::Expired,
        _ => Fate::Failed,
    }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// As [`crate::io::closed_loop`], over sockets. A fifth of the span is warm-up.
pub(super) fn closed_loop(port: u16, callers: usize, span: Duration) -> Result<f64> {
    pin::this_client();
    runtime()?.block_on(async {
        let senders = connect(port, 2).await?;
        let from = Instant::now() + span / 5;
        let mut tasks = JoinSet::new();
        for caller in 0..callers {
            tasks.spawn(again_and_again(senders[caller % 2].clone(), from, from + span));
        }
        let ended: u64 = tasks.join_all().await.into_iter().sum();
        Ok(ended as f64 / span.as_secs_f64())
    })
}

async fn again_and_again(sender: Sender, from: Instant, to: Instant) -> u64 {
    let (level, cohort) = (Criticality::CoreFlow, Cohort::default());
    let asked = Asked { level, cohort, caller: 0, endpoint: 0, patience: None };
    let arrival = Arrival { at: 0.0, asked, stays_open: false };
    let mut ended = 0;
    while Instant::now() < to {
        let (record, _) = call(sender.clone(), arrival, Instant::now()).await;
        let now = Instant::now();
        ended += u64::from(record.fate == Fate::Answered && now >= from && now < to);
    }
    ended
}
