use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use plimsoll_loadtest::{Call, Caller, Plan, Reason, Version, run};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::server::{Server, answer, header};
use crate::{assert_adds_up, carry_out, plan, refusal};

const BOTH: [Version; 2] = [Version::Http1, Version::Http2];

fn callers() -> Vec<Caller> {
    ["checkout=1:20", "app=2:30", "batch=4:50"].map(|text| text.parse().unwrap()).to_vec()
}

fn reason(reason: &str, count: u64) -> Vec<Reason> {
    vec![Reason { reason: reason.into(), count }]
}

#[tokio::test]
async fn every_request_arrives_once_and_names_its_caller() {
    for version in BOTH {
        let seen: Arc<Mutex<BTreeMap<(String, String), u64>>> = Arc::default();
        let counted = seen.clone();
        let server = Server::start(move |request| {
            let who = (header(&request, "rpc-caller"), header(&request, "x-plimsoll-criticality"));
            *counted.lock().entry(who).or_default() += 1;
            async { answer(200, &[]) }
        })
        .await;
        let plan = Plan { callers: callers(), ..plan(&server.origin(), version, 500.0, 1000) };
        let report = carry_out(plan).await;
        assert_eq!(report.total.counts.offered, 500);
        assert_eq!(report.total.counts.ok, 500);
        for caller in &report.callers {
            let who = (caller.name.clone(), caller.level.to_string());
            assert_eq!(seen.lock()[&who], caller.figures.counts.offered, "{who:?}");
        }
        assert_eq!(report.levels.iter().map(|it| it.level).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(report.seconds.len(), 1);
    }
}

#[tokio::test]
async fn method_paths_headers_and_body_are_as_planned() {
    let seen: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let counted = seen.clone();
    let server = Server::start(move |request| {
        let counted = counted.clone();
        async move {
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            let token = header(&request, "x-token");
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let line = format!("{method} {path} {token} {}", String::from_utf8_lossy(&body));
            *counted.lock().entry(line).or_default() += 1;
            answer(200, &[])
        }
    })
    .await;
    for version in BOTH {
        let call = Call::Http {
            version,
            method: Method::POST,
            paths: vec!["3:/often".parse().unwrap(), "/seldom?x".parse().unwrap()],
            body: "hello".into(),
        };
        let headers = vec![("x-token".parse().unwrap(), "secret".parse().unwrap())];
        let plan = Plan { call, headers, ..plan(&server.origin(), version, 1000.0, 400) };
        assert_eq!(carry_out(plan).await.total.counts.ok, 400);
    }
    let seen = seen.lock();
    assert_eq!(seen.len(), 2);
    let often = seen["POST /often secret hello"];
    assert!((540..=660).contains(&often), "{often} of 800");
}

/// One connection, one stall of half a second: a generator that waits for answers
/// would report one slow request. Here a hundred were due during the stall, and each
/// has waited for the rest of it.
#[tokio::test]
async fn a_stall_is_charged_with_everyone_who_was_due_meanwhile() {
    let first = Arc::new(AtomicU64::new(0));
    let server = Server::start(move |_| {
        let stalls = first.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if stalls {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            answer(200, &[])
        }
    })
    .await;
    let plan = Plan { connections: Some(1), ..plan(&server.origin(), Version::Http1, 200.0, 1000) };
    let report = carry_out(plan).await;
    assert_eq!(report.total.counts.ok, 200);
    let latency = report.total.latency.unwrap();
    // Waits go evenly from 500 ms to nothing over half of the requests.
    assert!((380.0..500.0).contains(&latency.p90_ms), "{latency:?}");
    assert!(latency.mean_ms > 110.0, "{latency:?}");
    let warnings = report.generator.warnings;
    assert!(warnings.iter().any(|it| it.contains("raise --connections")), "{warnings:?}");
}

/// With a fixed few connections the generator would be the queue.
#[tokio::test]
async fn connections_are_opened_until_every_request_under_way_has_one() {
    let server = Server::start(|_| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        answer(200, &[])
    })
    .await;
    let report = carry_out(plan(&server.origin(), Version::Http1, 500.0, 1000)).await;
    assert_eq!(report.total.counts.ok, 500);
    assert!(report.generator.most_in_flight > 150, "{:?}", report.generator);
    let waited = report.generator.connection_wait.unwrap();
    assert_eq!(waited.count, 500);
    assert!(waited.max_ms < 5.0, "{waited:?}");
}

#[tokio::test]
async fn refusals_expiries_and_failures_are_told_apart() {
    let server = Server::start(|request| {
        let answer = match header(&request, "rpc-caller").as_str() {
            "checkout" => answer(200, &[]),
            "app" => answer(503, &[("x-shed-reason", "expired")]),
            "batch" => answer(429, &[("x-shed-reason", "overload")]),
            _ => answer(503, &[]),
        };
        async { answer }
    })
    .await;
    for version in BOTH {
        let mut callers = callers();
        callers.push("bare=3:20".parse().unwrap());
        let plan = Plan { callers, ..plan(&server.origin(), version, 1000.0, 500) };
        let report = carry_out(plan).await;
        let by_caller = |index: usize| report.callers[index].figures.counts;
        assert_eq!(by_caller(0).ok, by_caller(0).offered);
        assert_eq!(by_caller(1).expired, by_caller(1).offered);
        assert_eq!(by_caller(2).shed, by_caller(2).offered);
        assert_eq!(by_caller(3).failed, by_caller(3).offered);
        assert_eq!(report.total.refusal.unwrap().count, by_caller(2).shed);
        assert_eq!(report.refusals[0].reason, "overload");
        assert_eq!(report.failures, reason("HTTP 503", by_caller(3).failed));
    }
}

#[tokio::test]
async fn a_server_that_never_answers_times_out_and_nothing_is_lost() {
    let server = Server::start(|_| pending()).await;
    for version in BOTH {
        let timeout = Duration::from_millis(100);
        let plan = Plan { timeout, ..plan(&server.origin(), version, 400.0, 500) };
        let report = carry_out(plan).await;
        assert_eq!(report.total.counts.timed_out, 200);
        assert_eq!(report.total.latency, None);
        assert!(report.generator.warnings.iter().any(|it| it == "no request was ok"));
    }
}

#[tokio::test]
async fn what_could_not_be_started_is_counted_and_said() {
    let server = Server::start(|_| pending()).await;
    let plan = Plan {
        max_in_flight: 5,
        timeout: Duration::from_secs(1),
        ..plan(&server.origin(), Version::Http2, 200.0, 200)
    };
    let report = carry_out(plan).await;
    assert_eq!((report.total.counts.timed_out, report.total.counts.not_started), (5, 35));
    assert_eq!(report.generator.most_in_flight, 5);
    assert_eq!(report.failures[0], reason("too many in flight", 35)[0]);
    let said = report.generator.warnings.join(" ");
    assert!(said.contains("35 requests were not started"), "{said}");
}

#[tokio::test]
async fn an_interrupted_test_reports_what_it_did() {
    let arrived = Arc::new(Semaphore::new(0));
    let arriving = arrived.clone();
    let server = Server::start(move |_| {
        arriving.add_permits(1);
        async { answer(200, &[]) }
    })
    .await;
    let enough = async move {
        let _ = arrived.acquire_many(50).await.unwrap();
    };
    let report =
        run(plan(&server.origin(), Version::Http1, 200.0, 60_000), (), enough).await.unwrap();
    assert_adds_up(&report);
    assert!(report.interrupted);
    assert!(report.ran_s < 30.0 && report.planned_s == 60.0);
    assert!((50..5000).contains(&report.total.counts.ok), "{:?}", report.total.counts);
    let rate = report.total.offered_rate;
    assert!((150.0..260.0).contains(&rate), "{rate}");
}

#[tokio::test]
async fn a_ramp_and_a_step_are_reported_apart() {
    let server = Server::start(|_| async { answer(200, &[]) }).await;
    let mut plan = plan(&server.origin(), Version::Http2, 300.0, 500);
    plan.phases.insert(0, "0:400:1s".parse().unwrap());
    let report = carry_out(plan).await;
    let offered: Vec<u64> = report.steps.iter().map(|step| step.figures.counts.offered).collect();
    assert_eq!(offered, [200, 150]);
    assert_eq!((report.steps[1].start_s, report.steps[1].ran_s), (1.0, 0.5));
    assert_eq!(report.steps[0].to_rate, 400.0);
}

#[tokio::test]
async fn connections_that_the_server_closes_are_replaced() {
    let server = Server::start(|_| async { answer(200, &[("connection", "close")]) }).await;
    let plan = Plan { connections: Some(4), ..plan(&server.origin(), Version::Http1, 200.0, 500) };
    assert_eq!(carry_out(plan).await.total.counts.ok, 100);
}

#[tokio::test]
async fn an_outage_is_counted_and_the_service_is_found_again() {
    for version in BOTH {
        let seen = Arc::new(Semaphore::new(0));
        let counting = |seen: &Arc<Semaphore>| {
            let seen = seen.clone();
            move |_| {
                seen.add_permits(1);
                async { answer(200, &[]) }
            }
        };
        let first = Server::start(counting(&seen)).await;
        let (address, origin) = (first.address.to_string(), first.origin());
        let running = tokio::spawn(carry_out(plan(&origin, version, 300.0, 1500)));
        seen.acquire_many(100).await.unwrap().forget();
        drop(first);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let again = Arc::new(Semaphore::new(0));
        let _second = Server::start_at(&address, None, counting(&again)).await;
        let counts = running.await.unwrap().total.counts;
        assert_eq!(counts.ok + counts.failed, 450, "{counts:?}");
        assert!(counts.failed >= 50, "{counts:?}");
        assert!(again.available_permits() >= 50, "{counts:?}");
    }
}

#[tokio::test]
async fn connections_that_break_are_failures_with_a_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let hanging_up = tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            drop(tcp);
        }
    });
    let report = carry_out(plan(&origin, Version::Http1, 100.0, 300)).await;
    assert_eq!(report.total.counts.failed, 30);
    assert!(!report.failures[0].reason.is_empty());
    hanging_up.abort();
}

#[tokio::test]
async fn nobody_at_the_target_is_said_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for version in BOTH {
        let said = refusal(plan(&origin, version, 1.0, 60_000)).await;
        assert!(said.contains(&origin) && said.contains("refused"), "{said}");
        assert!(said.contains("start the service"), "{said}");
    }
}

#[tokio::test]
async fn a_server_without_http2_is_told_from_one_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let _ = tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let said = refusal(plan(&origin, Version::Http2, 1.0, 60_000)).await;
    assert!(said.contains(&origin) && said.contains("does not speak HTTP/2"), "{said}");
    serving.abort();
}

#[tokio::test]
async fn a_plan_that_contradicts_itself_is_refused() {
    let said = refusal(plan("http://127.0.0.1:1", Version::Http1, 0.0, 1000)).await;
    assert!(said.contains("give a rate above zero"), "{said}");
}
