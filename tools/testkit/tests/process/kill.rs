//! `kill -9` under load, then a start on the same port.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use plimsoll_client::Spectator;
use plimsoll_testkit::go::GoExecutor;
use plimsoll_testkit::{Fixture, Oracle, SOON, eventually};
use plimsoll_wire::v1;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::Endpoint;

use crate::scene::{Files, Map, balanced, events, full, map, patient, settled, workers};

const SHARDS: usize = 48;
/// Why a shard that has an owner may get another one.
const FOR_BALANCE: [&str; 3] = ["balance", "exchange", "fill-empty"];

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_every_shard_has_the_owner_and_the_generation_it_had() {
    let files = Files::new("file", &[patient(Fixture::fixed("orders", SHARDS as u64))]);
    let server = files.start().await;
    let (oracle, url) = (Oracle::new(), server.url());
    let executors = workers(&server, "orders", 4, &oracle).await;
    let spectator = Spectator::connect(&url, "orders").await.unwrap();
    let before = full(&spectator, SHARDS).await;
    let starts = started(&oracle, SHARDS).await;

    let (grpc, http) = (server.grpc.to_string(), server.http.to_string());
    server.kill().unwrap();
    // They carry on from what they know.
    assert_eq!(map(&spectator, SHARDS), before);
    let owned: usize = executors.iter().map(|executor| executor.shards().len()).sum();
    assert_eq!(owned, SHARDS);

    let server = files.restart(grpc, http).await;
    settled(&server.url(), "orders", executors.len()).await;
    let fresh = Spectator::connect(&server.url(), "orders").await.unwrap();
    assert_eq!(full(&fresh, SHARDS).await, before);
    assert_eq!(oracle.runs().len(), starts, "a shard was started again");
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_no_grant_that_anybody_was_told_of_is_lost() {
    let files = Files::new("file", &[patient(Fixture::ephemeral("queues"))]);
    let server = files.start().await;
    let oracle = Oracle::new();
    let executors = workers(&server, "queues", 3, &oracle).await;
    let creators: Vec<_> = (0..8).map(|n| Creator::start(&server.url(), n)).collect();
    let told = || creators.iter().map(|creator| creator.told.lock().len()).sum::<usize>();
    eventually(SOON, "hundreds of shards are made", || async { (told() > 300).then_some(()) })
        .await;

    // In the midst of it.
    let (grpc, http) = (server.grpc.to_string(), server.http.to_string());
    server.kill().unwrap();
    let told: Map = creators.iter().flat_map(|creator| creator.told.lock().clone()).collect();
    // What was told was stored before: nothing but a later grant can be there instead.
    let stored = files.grants().await;
    for (key, (owner, generation)) in &told {
        let (now, latest) = &stored[key];
        let is_it = latest > generation || (latest, now) == (generation, owner);
        assert!(is_it, "{key}: told {owner} {generation}, stored {now} {latest}");
    }

    let server = files.restart(grpc, http).await;
    drop(creators);
    settled(&server.url(), "queues", executors.len()).await;
    let client = lookups(&server.url());
    let mut found = Map::new();
    for key in told.keys() {
        let it = client.clone().lookup(lookup(key)).await.unwrap().into_inner();
        found.insert(key.clone(), (it.executor_id, it.generation));
    }
    // After the answers: what has moved by then is in it.
    let events = events(&server.url(), "queues", &["granted"]).await;
    let moved = |key: &str| {
        let of_it = events.iter().filter(|event| event.shard_key == key);
        of_it.map(|event| &*event.detail).any(|why| FOR_BALANCE.contains(&why))
    };
    for (key, (owner, latest)) in &stored {
        let Some((now, generation)) = found.get(key) else { continue };
        // An owner whom the kill kept from hearing of it is granted it anew. Whoever came
        // back first was crowded by what was made before the others came.
        assert!(generation >= latest, "{key}: {generation} < {latest}");
        assert!(now == owner || moved(key), "{key}: {owner} lost it to {now}: {events:#?}");
    }
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_forgets_learns_from_sessions_and_heartbeats_who_owns_what() {
    let files = Files::new("memory", &[patient(Fixture::fixed("orders", SHARDS as u64))]);
    let server = files.start().await;
    let (oracle, address) = (Oracle::new(), server.grpc);
    let executors = workers(&server, "orders", 2, &oracle).await;
    let go = |n| GoExecutor::new(address, "orders", &format!("go-{n}@1")).told_to(&oracle);
    let beat = Duration::from_millis(100);
    let _gophers: Vec<_> = (0..2).map(|n| go(n).beating(beat)).collect();
    // The last two may come late and get their share by balance.
    let spectator = Spectator::connect(&server.url(), "orders").await.unwrap();
    full(&spectator, SHARDS).await;
    settled(&server.url(), "orders", 4).await;
    balanced(server.http, "orders", || changes(&oracle)).await;
    let (before, starts) = (owners(&map(&spectator, SHARDS)), oracle.runs().len());
    assert_eq!(before, oracle.running());

    let (grpc, http) = (server.grpc.to_string(), server.http.to_string());
    server.kill().unwrap();
    assert_eq!(owners(&map(&spectator, SHARDS)), before);
    let server = files.restart(grpc, http).await;
    settled(&server.url(), "orders", 4).await;

    let fresh = Spectator::connect(&server.url(), "orders").await.unwrap();
    assert_eq!(owners(&full(&fresh, SHARDS).await), before);
    assert_eq!(oracle.runs().len(), starts, "a shard was started again");
    assert_eq!(executors.iter().map(|executor| executor.shards().len()).sum::<usize>(), {
        before.values().filter(|owner| owner.starts_with("worker")).count()
    });
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_and_spectators_that_come_up_while_the_server_is_away_find_it_later() {
    let files = Files::new("file", &[patient(Fixture::fixed("orders", 8))]);
    let server = files.start().await;
    let (grpc, http, url) = (server.grpc.to_string(), server.http.to_string(), server.url());
    server.kill().unwrap();
    let oracle = Oracle::new();
    let worker = plimsoll_testkit::Worker::new("late", &oracle).run(&url, "orders");
    let spectator = Spectator::connect(&url, "orders");
    let (executor, spectator) = tokio::join!(worker, spectator);
    let (executor, spectator) = (executor.unwrap(), spectator.unwrap());
    assert_eq!((executor.shards().len(), spectator.len()), (0, 0));

    let _server = files.restart(grpc, http).await;
    full(&spectator, 8).await;
    started(&oracle, 8).await;
    oracle.assert_clean();
}

/// Makes ephemeral shards without end and notes what it was told.
struct Creator {
    told: Arc<Mutex<Map>>,
    _running: AbortOnDropHandle<()>,
}

impl Creator {
    fn start(url: &str, n: usize) -> Self {
        let (told, mut client) = (Arc::<Mutex<Map>>::default(), lookups(url));
        let notes = told.clone();
        let running = tokio::spawn(async move {
            for count in 0.. {
                let key = format!("{n}-{count}");
                match client.lookup(lookup(&key)).await {
                    Ok(found) => {
                        let found = found.into_inner();
                        notes.lock().insert(key, (found.executor_id, found.generation));
                    }
                    // The server is away: nobody was told anything.
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        Self { told, _running: AbortOnDropHandle::new(running) }
    }
}

fn lookups(url: &str) -> RoutingServiceClient<tonic::transport::Channel> {
    let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
    RoutingServiceClient::new(endpoint.connect_lazy())
}

fn lookup(key: &str) -> v1::LookupRequest {
    v1::LookupRequest { namespace: "queues".to_owned(), shard_key: key.to_owned() }
}

fn owners(map: &Map) -> BTreeMap<String, String> {
    map.iter().map(|(shard, (owner, _))| (shard.clone(), owner.clone())).collect()
}

/// Waits until every shard runs; gives how often one was started.
async fn started(oracle: &Oracle, shards: usize) -> usize {
    eventually(SOON, "every shard runs", || async {
        (oracle.running().len() == shards).then(|| oracle.runs().len())
    })
    .await
}

/// Starts and stops so far.
fn changes(oracle: &Oracle) -> usize {
    oracle.runs().iter().map(|run| 1 + usize::from(run.to.is_some())).sum()
}
