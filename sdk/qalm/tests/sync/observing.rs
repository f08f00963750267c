//! What an instance sees is told, and costs no request anything.

use std::time::Duration;

use plimsoll_qalm::PolicyServer;
use plimsoll_wire::v1::sync_response::Message as Told;
use plimsoll_wire::v1::{Observation, Traffic};

use crate::harness::*;

fn every(millis: u64) -> Told {
    Told::ObserveEvery(Duration::from_millis(millis).try_into().unwrap())
}

const RULES: &str = "
[[rules]]
caller = \"checkout\"
criticality = 2
[[rules]]
caller = \"nightly-*\"
criticality = 4
[[rules]]
endpoint = \"GET /menu\"
criticality = 3
[[rules]]
endpoint = \"GET /menu\"
caller = \"ads\"
criticality = 4
";

/// Sums over all observations, by caller and level.
fn told(heard: &[Heard]) -> Vec<(String, u32, String, u64)> {
    let all = heard.iter().filter_map(|it| match it {
        Heard::Observation(seen) => Some(seen.traffic.clone()),
        _ => None,
    });
    let mut sums = std::collections::BTreeMap::new();
    for Traffic { endpoint, caller, level, rule, admitted, .. } in all.flatten() {
        assert_eq!(endpoint, "GET /menu");
        *sums.entry((caller, level, rule)).or_insert(0) += admitted;
    }
    sums.into_iter().map(|((caller, level, rule), sum)| (caller, level, rule, sum)).collect()
}

#[tokio::test]
async fn every_request_is_told_once_with_what_gave_it_its_level() {
    let server = Server::start().await;
    server.greet_with(vec![every(100), policy(1, RULES)]);
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    server.applied(1).await;
    for _ in 0..10 {
        for (caller, asked) in [
            ("checkout", ""),
            ("checkout", "4"),
            ("nightly-7", ""),
            ("ads", ""),
            ("app", ""),
            ("", ""),
        ] {
            service.ask(caller, asked).await;
        }
    }
    let expected = [
        ("", 3, "endpoint", 10),
        ("ads", 4, "endpoint and caller", 10),
        ("app", 3, "endpoint", 10),
        ("checkout", 2, "caller", 10),
        ("checkout", 4, "header", 10),
        ("nightly-7", 4, "caller", 10),
    ]
    .map(|(caller, level, rule, count)| (caller.to_owned(), level, rule.to_owned(), count));
    in_time(async {
        while told(&server.heard()) != expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let so_far = told(&server.heard());
            assert!(so_far.iter().all(|it| it.3 <= 10), "told twice: {so_far:?}");
        }
    })
    .await;
}

fn observation(heard: &Heard) -> Option<Observation> {
    match heard {
        Heard::Observation(seen) if !seen.traffic.is_empty() => Some(seen.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn waits_and_queues_are_told_and_only_what_is_new() {
    let server = Server::start().await;
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    for _ in 0..5 {
        service.ask("before", "").await;
    }
    // What was before the contact is not its affair: wait until it stands.
    service.until(|it| it.server.is_some()).await;
    server.hello().await;
    server.tell(&every(100));
    service.until(|it| it.observations > 0).await;
    service.ask("after", "").await;
    let seen =
        server.hears(|heard| observation(heard).filter(|it| it.traffic[0].caller == "after")).await;
    let row = &seen.traffic[0];
    assert_eq!((seen.traffic.len(), row.admitted, row.shed, row.expired), (1, 1, 0, 0));
    assert!(row.handling_p99.is_some() && row.queue_wait_p50.is_some());
    let queue = seen.queues.iter().find(|it| it.group == "GET /menu").unwrap();
    assert_eq!((&*queue.state, queue.admits_level, queue.queued), ("normal", 4, 0));
    assert!(queue.limit > 0 && queue.target.is_some());
}

#[tokio::test]
async fn made_up_callers_do_not_make_an_observation_grow() {
    let server = Server::start().await;
    server.greet_with(vec![every(100)]);
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    service.until(|it| it.server.is_some()).await;
    for n in 0..1500 {
        service.ask(&format!("stranger-{n}"), "").await;
    }
    let of_others = |heard: &Heard| {
        observation(heard)?.traffic.iter().find(|it| it.caller == "(others)").cloned()
    };
    let others = server.hears(of_others).await;
    assert_eq!((others.level, others.rule.as_str()), (3, "default"));
    let most = server.heard().iter().filter_map(observation).map(|it| it.traffic.len()).max();
    assert!(most.unwrap() <= 52, "{most:?}");
}
