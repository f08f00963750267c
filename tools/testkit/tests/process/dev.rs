//! `plimsoll dev`: the whole system in one command.

use std::process::Output;
use std::time::Duration;

use plimsoll_testkit::process::run;
use plimsoll_testkit::{eventually, within};
use plimsoll_wire::v1;

use crate::scene::admin;

const KEYS: [&str; 12] = [
    "snapshot",
    "executors",
    "shards",
    "spread_start",
    "spread_end",
    "max_over_mean_start",
    "max_over_mean_end",
    "moves",
    "requests",
    "wrong_owner",
    "failed",
    "double_owners",
];

#[tokio::test]
async fn dev_runs_for_as_long_as_it_is_told_and_sums_up_in_json() {
    let ended = dev(&["--for", "5s", "--json", "--executors", "6"]).await;
    assert!(ended.status.success(), "{ended:?}");
    let summary: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let found = |key: &&&str| summary.get(**key).is_some();
    assert_eq!(KEYS.iter().filter(found).count(), KEYS.len(), "{summary}");
    assert_eq!(summary.as_object().unwrap().len(), KEYS.len(), "{summary}");
    let number = |key: &str| summary[key].as_f64().unwrap();
    assert_eq!(number("executors"), 6.0);
    assert!(number("requests") > 0.0, "{summary}");
    assert_eq!((number("failed"), number("double_owners")), (0.0, 0.0), "{summary}");
    assert!(number("spread_end") <= number("spread_start"), "{summary}");
}

#[tokio::test]
async fn dev_without_json_sums_up_in_one_line() {
    let ended = dev(&["--for", "1s", "--executors", "2", "--snapshot", "mostly-idle"]).await;
    assert!(ended.status.success(), "{ended:?}");
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("mostly-idle:") && said.contains("0 failed"), "{said}");
}

#[tokio::test]
async fn dev_refuses_a_snapshot_that_is_none() {
    let ended = dev(&["--for", "1s", "--snapshot", "no-such-snapshot"]).await;
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("no-such-snapshot"), "{said}");
}

#[tokio::test]
async fn dev_exits_with_one_if_a_request_failed() {
    let (grpc, http) = (free_address(), free_address());
    let arguments = ["dev", "--grpc", &grpc, "--http", &http, "--for", "8s", "--executors", "2"];
    let drained = async {
        let url = format!("http://{grpc}");
        // A drained shard cannot be reached, and dev does not know why.
        eventually(Duration::from_secs(60), "dev serves", || async {
            let request = v1::DrainShardsRequest {
                namespace: "dev".to_owned(),
                shard_keys: (0..100).map(|n| n.to_string()).collect(),
                ..v1::DrainShardsRequest::default()
            };
            admin(&url).drain_shards(request).await.ok()
        })
        .await;
    };
    let limit = Duration::from_secs(90);
    let (ended, _) = tokio::join!(within(limit, run(&arguments)), drained);
    let ended = ended.unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(!said.contains(" 0 failed"), "{said}");
}

/// A port that was free a moment ago.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

async fn dev(arguments: &[&str]) -> Output {
    let ports = ["dev", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let all = [&ports, arguments].concat();
    within(Duration::from_secs(90), run(&all)).await.unwrap()
}
