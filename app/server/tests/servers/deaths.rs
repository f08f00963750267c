//! Servers and etcd die, hang and come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_wire::v1;

use super::etcd::Etcd;
use super::executor::{Executor, Oracle, executors};
use super::fleet::{self, SOON, eventually, leader, namespace, stays};
use super::process::Process;

/// Three server processes, and six executors that run the 24 shards of `orders`.
struct Scene {
    etcd: Etcd,
    servers: Vec<Process>,
    oracle: Arc<Oracle>,
    _executors: Vec<Executor>,
}

impl Scene {
    async fn begin() -> Self {
        let etcd = Etcd::start();
        let servers: Vec<_> = (0..3).map(|_| Process::start(&etcd)).collect();
        let all: Vec<_> = servers.iter().map(|server| server.grpc.clone()).collect();
        let oracle = Arc::new(Oracle::default());
        let executors = executors(&oracle, "orders", 6, &all);
        let scene = Self { etcd, servers, oracle, _executors: executors };
        scene.all_shards_run().await;
        scene.leaderships_are_spread().await;
        let http: Vec<_> = scene.servers.iter().map(|server| server.http).collect();
        fleet::balanced(&http, "orders", || scene.oracle.changes()).await;
        scene
    }

    /// Two namespaces, two leaders: nothing is handed over any more.
    async fn leaderships_are_spread(&self) {
        let first = &self.servers[0].grpc;
        eventually(SOON, "leaderships are spread", || async {
            let (orders, carts) = (leader(first, "orders").await, leader(first, "carts").await);
            (orders != carts).then_some(())
        })
        .await;
    }

    async fn all_shards_run(&self) {
        let all = || async { (self.oracle.running() == 24).then_some(()) };
        eventually(Duration::from_secs(30), "all shards run", all).await;
    }

    async fn leader(&self) -> usize {
        let leads = leader(&self.servers[0].grpc, "orders").await;
        self.servers.iter().position(|server| server.grpc == leads).unwrap()
    }

    /// Beats reach a leader that is not this one.
    async fn another_leads(&self, than: usize) -> usize {
        let ask = if than == 0 { 1 } else { 0 };
        let all = &self.servers;
        eventually(SOON, "another server leads", || async {
            let leads = leader(&all[ask].grpc, "orders").await;
            all.iter().position(|it| it.grpc == leads).filter(|leads| *leads != than)
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_leads_soon_after_a_leader_is_killed_and_no_shard_moves() {
    let mut scene = Scene::begin().await;
    let (moves, old) = (scene.oracle.moves(), scene.leader().await);
    let killed = Instant::now();
    scene.servers[old].kill();
    let new = scene.another_leads(old).await;
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    // Past every wait that there is: the lease, and the confidence of the dead.
    stays(Duration::from_secs(8), "nothing moves or stops", || scene.oracle.changes()).await;
    scene.all_shards_run().await;
    assert_eq!((scene.oracle.moves(), scene.oracle.stops()), (moves, moves));
    scene.oracle.assert_never_double();
    assert_ne!(new, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_acknowledges_nothing_when_it_goes_on() {
    let scene = Scene::begin().await;
    let (moves, old) = (scene.oracle.moves(), scene.leader().await);
    scene.servers[old].stop();
    let new = scene.another_leads(old).await;
    // Its sessions wait in its sockets, with beats that nobody has read.
    scene.servers[old].go_on();
    let request = v1::DescribeNamespaceRequest { name: "orders".into() };
    let told = eventually(SOON, "it answers again", || async {
        let mut admin = fleet::admin(&scene.servers[old].grpc);
        let answer = admin.describe_namespace(request.clone()).await.ok()?;
        Some(answer.into_inner().leader_address)
    });
    assert_eq!(told.await, scene.servers[new].grpc);
    stays(Duration::from_secs(8), "nothing moves", || scene.oracle.moves()).await;
    scene.all_shards_run().await;
    assert_eq!(scene.oracle.moves(), moves);
    scene.oracle.assert_never_double();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_evicted_and_nothing_moves_when_etcd_was_away_for_twenty_seconds() {
    let mut scene = Scene::begin().await;
    let moves = scene.oracle.moves();
    scene.etcd.kill();
    tokio::time::sleep(Duration::from_secs(20)).await;
    scene.etcd.restart();
    scene.all_shards_run().await;
    stays(Duration::from_secs(8), "nothing moves", || scene.oracle.moves()).await;
    scene.all_shards_run().await;
    assert_eq!(scene.oracle.moves(), moves);
    scene.oracle.assert_never_double();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_hang_of_etcd_is_not_noticed() {
    let scene = Scene::begin().await;
    let (moves, old) = (scene.oracle.moves(), scene.leader().await);
    let stops = scene.oracle.stops();
    scene.etcd.stop();
    stays(Duration::from_millis(1500), "it hangs", || scene.oracle.changes()).await;
    scene.etcd.go_on();
    stays(Duration::from_secs(3), "nothing moves or stops", || scene.oracle.changes()).await;
    assert_eq!(scene.leader().await, old);
    assert_eq!((scene.oracle.moves(), scene.oracle.stops()), (moves, stops));
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_are_answered_while_etcd_hangs_and_the_age_of_the_map_grows() {
    let scene = Scene::begin().await;
    scene.etcd.stop();
    for server in &scene.servers {
        // Also of the leader, which gives up within 3 s.
        eventually(SOON, "the map is older than 1 s, and there", || async {
            let lookup = v1::LookupRequest { namespace: "orders".into(), shard_key: "7".into() };
            let found = fleet::routing(&server.grpc).lookup(lookup).await.unwrap();
            let age = found.metadata().get("plimsoll-replica-age-ms")?;
            (age.to_str().unwrap().parse::<u64>().unwrap() > 1000).then_some(())
        })
        .await;
    }
    scene.etcd.go_on();
    scene.all_shards_run().await;
    scene.oracle.assert_never_double();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_store_gives_up_and_somebody_leads_when_it_works_again() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 2, &[namespace("carts", 0)]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "carts", 2, &all);
    let make = |key: &str| {
        let request = v1::LookupRequest { namespace: "carts".into(), shard_key: key.into() };
        let mut routing = fleet::routing(&all[0]);
        async move { tokio::time::timeout(SOON, routing.lookup(request)).await.ok()?.ok() }
    };
    eventually(SOON, "a shard is made", || make("before")).await;
    let leads = leader(&all[0], "carts").await;
    let old = servers.iter().find(|server| server.grpc.to_string() == leads).unwrap();
    etcd.refuse_changes(true);
    let wanted = make("meanwhile");
    let given_up = eventually(SOON, "the leader gives up", || async {
        old.namespaces.get("carts").is_none().then_some(())
    });
    tokio::join!(given_up, wanted);
    assert!(old.metrics.text().contains("plimsoll_store_failures_total"));
    etcd.refuse_changes(false);
    eventually(2 * SOON, "a shard is made again", || make("after")).await;
    assert_eq!(oracle.moves(), 0);
    oracle.assert_never_double();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_moves_while_the_servers_are_restarted_one_after_the_other() {
    let etcd = Etcd::start();
    let namespaces = [namespace("orders", 24)];
    let mut servers = Vec::new();
    for _ in 0..3 {
        let config = fleet::config(&etcd, &namespaces);
        let server = fleet::start(&config).await;
        // It keeps its ports over restarts.
        let config = plimsoll_server::Config {
            grpc: plimsoll_server::config::Listener { listen: server.grpc.to_string() },
            ..config
        };
        servers.push((config, server));
    }
    let all: Vec<_> = servers.iter().map(|(_, server)| server.grpc.to_string()).collect();
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "orders", 6, &all);
    let all_run = || async { (oracle.running() == 24).then_some(()) };
    eventually(SOON, "all shards run", all_run).await;
    let http: Vec<_> = servers.iter().map(|(_, server)| server.http).collect();
    fleet::balanced(&http, "orders", || oracle.changes()).await;
    let (moves, stops) = (oracle.moves(), oracle.stops());
    for _ in 0..3 {
        let (config, server) = servers.remove(0);
        server.stop().await;
        let again = eventually(SOON, "it starts again", || async {
            plimsoll_server::Server::start(&config).await.ok()
        });
        let again = again.await;
        let lookup = v1::LookupRequest { namespace: "orders".into(), shard_key: "7".into() };
        eventually(SOON, "it has the map", || async {
            fleet::routing(again.grpc).lookup(lookup.clone()).await.ok()
        })
        .await;
        servers.push((config, again));
    }
    stays(Duration::from_secs(5), "nothing moved or stopped", || oracle.changes()).await;
    eventually(SOON, "all shards run", all_run).await;
    assert_eq!((oracle.moves(), oracle.stops()), (moves, stops), "nothing moved or stopped");
    oracle.assert_never_double();
}
