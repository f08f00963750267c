//! Leaderships are spread, and handed over with the state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_server::Server;

use super::etcd::Etcd;
use super::executor::{Oracle, executors};
use super::fleet::{self, SOON, eventually, leader, namespace};

fn led(servers: &[Server]) -> Vec<usize> {
    servers.iter().map(|server| server.namespaces.all().len()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_server_leads_its_share_also_one_that_comes_later() {
    let etcd = Etcd::start();
    let names: Vec<_> = (0..9).map(|n| namespace(&format!("n{n}"), 4)).collect();
    let mut servers = fleet::start_all(&etcd, 2, &names).await;
    let even = |servers: &[Server], share: &[usize]| {
        let mut led = led(servers);
        led.sort_unstable();
        led == share
    };
    let settled = || async { even(&servers, &[4, 5]).then_some(()) };
    eventually(Duration::from_secs(30), "two servers share", settled).await;
    servers.push(fleet::start(&fleet::config(&etcd, &names)).await);
    let settled = || async { even(&servers, &[3, 3, 3]).then_some(()) };
    eventually(Duration::from_secs(30), "three servers share", settled).await;
    servers.remove(0).stop().await;
    let settled = || async { even(&servers, &[4, 5]).then_some(()) };
    eventually(Duration::from_secs(30), "two servers share again", settled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_hands_over_what_it_knows_and_nobody_waits() {
    let etcd = Etcd::start();
    let mut servers = fleet::start_all(&etcd, 2, &[namespace("carts", 0)]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "carts", 3, &all);
    let leads = leader(&all[0], "carts").await;
    let look = |server: &str, key: String| {
        let request =
            plimsoll_wire::v1::LookupRequest { namespace: "carts".into(), shard_key: key };
        let mut routing = fleet::routing(server);
        async move { routing.lookup(request).await.ok() }
    };
    for n in 0..30 {
        eventually(SOON, "a shard is made", || look(&all[0], format!("k{n}"))).await;
    }
    let before: BTreeMap<_, _> = loads(&servers, &leads).await;
    assert_eq!(before.len(), 3, "{before:?}");
    let old = servers.iter().position(|it| it.grpc.to_string() == leads).unwrap();
    let going = servers.remove(old);
    let begun = Instant::now();
    going.stop().await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    // Everybody is known at once: nobody is waited for.
    let after = loads(&servers, &servers[0].grpc.to_string()).await;
    assert_eq!(after, before);
    oracle.assert_never_double();
    assert_eq!(oracle.stops(), 0);
}

/// Executors and how they stand with the server that leads.
async fn loads(servers: &[Server], leads: &str) -> BTreeMap<String, String> {
    let server = servers.iter().find(|it| it.grpc.to_string() == leads).unwrap();
    let handle = eventually(SOON, "it leads", || async { server.namespaces.get("carts") }).await;
    let stand = handle.read(|_, it| {
        let stand = |e: &plimsoll_ownership::namespace::ExecutorInspection<'_>| {
            (e.id.to_string(), e.status.to_owned())
        };
        it.executors().iter().map(stand).collect()
    });
    stand.await.unwrap()
}
