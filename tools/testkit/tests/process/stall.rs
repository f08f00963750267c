//! A server that stands still: SIGSTOP, SIGCONT.

use std::time::Duration;

use plimsoll_client::Spectator;
use plimsoll_testkit::go::GoExecutor;
use plimsoll_testkit::{Fixture, Oracle, SOON, eventually, holds};

use crate::scene::{Files, events, full, map, settled, workers};

const LONG: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stood_still_for_longer_than_a_lease_evicts_nobody() {
    let orders = Fixture::fixed("orders", 16).set("heartbeat_ttl", "2s");
    let files = Files::new("file", &[orders]);
    let server = files.start().await;
    let oracle = Oracle::new();
    let executors = workers(&server, "orders", 3, &oracle).await;
    let _gopher = GoExecutor::new(server.grpc, "orders", "go@1")
        .told_to(&oracle)
        .beating(Duration::from_millis(200));
    let spectator = Spectator::connect(&server.url(), "orders").await.unwrap();
    full(&spectator, 16).await;
    settled(&server.url(), "orders", 4).await;
    // No move for balance meanwhile.
    let mut admin = crate::scene::admin(&server.url());
    let namespace = "orders".to_owned();
    admin.freeze_balance(plimsoll_wire::v1::FreezeBalanceRequest { namespace }).await.unwrap();
    eventually(SOON, "handovers end", || async {
        let seen = map(&spectator, 16);
        let same = |(shard, runner): (&String, &String)| seen[shard].0 == *runner;
        let running = oracle.running();
        (seen.len() == 16 && running.len() == 16 && running.iter().all(same)).then_some(())
    })
    .await;
    let before = owners(&spectator);

    server.signal("STOP").unwrap();
    holds(Duration::from_secs(3), "the map of a spectator", || async { owners(&spectator) }).await;
    server.signal("CONT").unwrap();

    let again = eventually(LONG * 2, "the executors run everything again", || async {
        let (owned, running) = (executors.iter().map(|it| it.shards().len()), oracle.running());
        (owned.sum::<usize>() + oracle.count("go@1") == 16 && running.len() == 16).then_some(())
    });
    if tokio::time::timeout(LONG, again).await.is_err() {
        let owned: Vec<_> = executors.iter().map(|it| (it.id(), it.shards())).collect();
        let kinds = ["stalled", "failed", "granted", "joined"];
        let told = events(&server.url(), "orders", &kinds).await;
        let running = oracle.running();
        panic!("owned {owned:#?}, running {running:#?}, the server says {told:#?}");
    }
    let fresh = Spectator::connect(&server.url(), "orders").await.unwrap();
    full(&fresh, 16).await;
    let evictions = events(&server.url(), "orders", &["expired", "mass-failure", "left"]).await;
    assert!(evictions.is_empty(), "{evictions:?}");
    // A Go executor knows no lease: what it runs has not moved. (Those of ours
    // have fenced themselves; v1_wire says what must become of that.)
    let of_the_gopher = |map: Vec<(String, String)>| {
        map.into_iter().filter(|(_, owner)| owner == "go@1").collect::<Vec<_>>()
    };
    assert_eq!(of_the_gopher(owners(&fresh)), of_the_gopher(before));
    oracle.assert_clean();
}

fn owners(spectator: &Spectator) -> Vec<(String, String)> {
    map(spectator, 16).into_iter().map(|(shard, (owner, _))| (shard, owner)).collect()
}
