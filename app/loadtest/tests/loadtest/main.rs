//! The generator over real sockets, against servers that misbehave on purpose.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod grpc;
mod http;
mod server;
mod tls;

use std::time::Duration;

use ::http::Method;
use bytes::Bytes;
use plimsoll_loadtest::{Arrivals, Call, Counts, Phase, Plan, Report, Version, run};

/// A plan of constant arrivals: it offers exactly rate times seconds.
fn plan(origin: &str, version: Version, rate: f64, millis: u64) -> Plan {
    let call = Call::Http { version, method: Method::GET, paths: Vec::new(), body: Bytes::new() };
    let lasts = Duration::from_millis(millis);
    let plan = Plan::new(origin.parse().unwrap(), call, rate, lasts);
    Plan { arrivals: Arrivals::Constant, phases: vec![Phase::steady(rate, lasts)], ..plan }
}

async fn carry_out(plan: Plan) -> Report {
    let report = run(plan, (), std::future::pending()).await.unwrap();
    assert_adds_up(&report);
    report
}

async fn refusal(plan: Plan) -> String {
    run(plan, (), std::future::pending()).await.unwrap_err().to_string()
}

/// Every request that was offered ended once, however it is summed.
fn assert_adds_up(report: &Report) {
    let total = &report.total.counts;
    assert_eq!(total.offered, total.ended(), "{total:?}");
    let sums = [
        sum(report.steps.iter().map(|step| step.figures.counts)),
        sum(report.seconds.iter().map(|second| second.counts)),
    ];
    assert_eq!(sums, [[total.offered, total.ok, total.shed, total.ended()]; 2]);
    if !report.callers.is_empty() {
        let callers = sum(report.callers.iter().map(|caller| caller.figures.counts));
        let levels = sum(report.levels.iter().map(|level| level.figures.counts));
        assert_eq!([callers, levels], [[total.offered, total.ok, total.shed, total.ended()]; 2]);
    }
}

fn sum(counts: impl Iterator<Item = Counts>) -> [u64; 4] {
    counts.fold([0; 4], |[offered, ok, shed, ended], counts| {
        [offered + counts.offered, ok + counts.ok, shed + counts.shed, ended + counts.ended()]
    })
}
