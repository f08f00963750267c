//! `WatchNamespaceState`: a stream that the Go client opens and never ends.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use plimsoll_testkit::go::GoStream;
use plimsoll_testkit::{Cluster, Fixture, SOON, eventually, http_get, soon};
use plimsoll_wire::sharddistributor as go;

use crate::common::{api, beat_until, executor, watch_request};

#[tokio::test]
async fn a_watch_whose_client_never_half_closes_gets_its_first_message_at_once() {
    let cluster = Cluster::start([Fixture::ephemeral("empty")]).await.unwrap();
    let mut watch = open(&cluster, "empty", false).await;
    let first = soon(watch.next_bytes()).await.unwrap().unwrap();
    assert_eq!(first.len(), 0, "nobody owns anything: a message of no bytes");
}

#[tokio::test]
async fn a_watch_whose_client_half_closes_at_once_works_as_well() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut watch = open(&cluster, "queues", true).await;
    soon(watch.next_bytes()).await.unwrap().unwrap();
    let mut gopher = executor(&cluster, "queues", "a@1");
    gopher.beat().await.unwrap();
    soon(until(&mut watch, |state| state.executors.len() == 1)).await;
}

#[tokio::test]
async fn a_half_close_in_the_middle_of_a_watch_does_not_end_it() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut watch = open(&cluster, "queues", false).await;
    soon(watch.next_bytes()).await.unwrap().unwrap();
    watch.half_close().unwrap();
    let mut gopher = executor(&cluster, "queues", "a@1");
    gopher.beat().await.unwrap();
    soon(until(&mut watch, |state| state.executors.len() == 1)).await;
}

#[tokio::test]
async fn the_head_of_a_watch_comes_with_the_content_type_and_no_status() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut watch = open(&cluster, "queues", false).await;
    let headers = soon(watch.headers()).await.unwrap();
    assert!(headers["content-type"].to_str().unwrap().starts_with("application/grpc"));
    assert!(!headers.contains_key("grpc-status"));
}

#[tokio::test]
async fn every_later_message_is_the_whole_map_with_the_drained_keys() {
    let orders = Fixture::fixed("orders", 4).quick();
    let cluster = Cluster::start([orders]).await.unwrap();
    let mut watch = open(&cluster, "orders", false).await;
    let mut gopher = executor(&cluster, "orders", "a@1");
    beat_until(&mut gopher, 4).await;
    let state = soon(until(&mut watch, |state| shards(state).len() == 4)).await;
    assert_eq!(state.executors.len(), 1);
    assert_eq!(state.executors[0].executor_id, "a@1");
    assert_eq!(state.executors[0].metadata["grpc_address"], "a@1.test:1");
    assert_eq!(state.drained_shard_keys, Vec::<String>::new());

    let client = cluster.go().await.unwrap();
    let keys = vec!["2".to_owned(), "not-there".to_owned()];
    let drain = go::DrainShardsRequest { namespace: "orders".to_owned(), shard_keys: keys.clone() };
    assert_eq!(client.call(&api("DrainShards"), &drain).await.unwrap().code(), 0);
    let state = soon(until(&mut watch, |state| state.drained_shard_keys == keys)).await;
    assert!(shards(&state).is_superset(&set(["0", "1", "3"])), "it is the whole map: {state:?}");
    beat_until(&mut gopher, 3).await;
    gopher.beat().await.unwrap();
    let state = soon(until(&mut watch, |state| !shards(state).contains("2"))).await;
    assert_eq!(shards(&state), set(["0", "1", "3"]));
    assert_eq!(state.drained_shard_keys, keys);

    let undrain = go::UndrainShardsRequest { namespace: "orders".to_owned(), shard_keys: keys };
    assert_eq!(client.call(&api("UndrainShards"), &undrain).await.unwrap().code(), 0);
    soon(until(&mut watch, |state| state.drained_shard_keys.is_empty())).await;
}

#[tokio::test]
async fn a_watcher_that_comes_later_begins_with_the_whole_map() {
    let cluster = Cluster::start([Fixture::fixed("orders", 4).quick()]).await.unwrap();
    let mut gopher = executor(&cluster, "orders", "a@1");
    beat_until(&mut gopher, 4).await;
    let mut watch = open(&cluster, "orders", false).await;
    let first: go::WatchNamespaceStateResponse = soon(watch.next()).await.unwrap();
    assert_eq!(shards(&first), set(["0", "1", "2", "3"]));
}

#[tokio::test]
async fn no_shard_is_shown_under_two_executors_in_one_message() {
    let orders = Fixture::fixed("orders", 16).quick();
    let cluster = Cluster::start([orders]).await.unwrap();
    let mut watch = open(&cluster, "orders", false).await;
    let mut first = executor(&cluster, "orders", "a@1");
    beat_until(&mut first, 16).await;
    let mut second = executor(&cluster, "orders", "b@1");
    for _ in 0..20 {
        first.beat().await.unwrap();
        second.beat().await.unwrap();
    }
    first.stop().await.unwrap();
    beat_until(&mut second, 16).await;
    let only_second = |state: &go::WatchNamespaceStateResponse| on(state, "b@1").len() == 16;
    let checked = async {
        loop {
            let state: go::WatchNamespaceStateResponse = watch.next().await.unwrap();
            let all: usize = state.executors.iter().map(|executor| executor.shards.len()).sum();
            assert_eq!(all, shards(&state).len(), "a shard is there twice: {state:?}");
            if only_second(&state) {
                return;
            }
        }
    };
    soon(checked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_watches_run_on_one_connection() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let open = async || {
        let mut stream =
            client.open(&api("WatchNamespaceState"), &watch_request("queues"), false).await?;
        stream.next_bytes().await?;
        anyhow::Ok(stream)
    };
    let mut watches = soon(try_join_all((0..260).map(|_| open()))).await.unwrap();
    executor(&cluster, "queues", "a@1").beat().await.unwrap();
    let told = watches.iter_mut().map(|watch| until(watch, |state| state.executors.len() == 1));
    soon(futures::future::join_all(told)).await;
}

#[tokio::test]
async fn a_cancelled_watch_is_forgotten_by_the_server() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut watch = open(&cluster, "queues", false).await;
    soon(watch.next_bytes()).await.unwrap().unwrap();
    assert_eq!(open_watches(&cluster).await, 1);
    watch.cancel();
    eventually(SOON, "no watch is open", || async {
        (open_watches(&cluster).await == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_watch_of_a_namespace_that_is_deleted_ends() {
    let cluster = Cluster::start([Fixture::ephemeral("queues")]).await.unwrap();
    let mut watch = open(&cluster, "queues", false).await;
    soon(watch.next_bytes()).await.unwrap().unwrap();
    let name = "queues".to_owned();
    let delete = plimsoll_wire::v1::DeleteNamespaceRequest { name };
    cluster.admin().delete_namespace(delete).await.unwrap();
    soon(async { while let Ok(Some(_)) = watch.next_bytes().await {} }).await;
}

#[tokio::test]
async fn a_watch_of_an_unknown_namespace_fails_with_a_status() {
    let cluster = Cluster::start([]).await.unwrap();
    let mut watch = open(&cluster, "nowhere", false).await;
    let headers = soon(watch.headers()).await.unwrap();
    assert_eq!(headers["grpc-status"], "5");
}

async fn open(cluster: &Cluster, namespace: &str, half_close: bool) -> GoStream {
    let client = cluster.go().await.unwrap();
    let path = api("WatchNamespaceState");
    soon(client.open(&path, &watch_request(namespace), half_close)).await.unwrap()
}

/// Reads on to the first message that fits.
async fn until(
    watch: &mut GoStream,
    fits: impl Fn(&go::WatchNamespaceStateResponse) -> bool,
) -> go::WatchNamespaceStateResponse {
    loop {
        let state: go::WatchNamespaceStateResponse = watch.next().await.unwrap();
        if fits(&state) {
            return state;
        }
    }
}

fn on(state: &go::WatchNamespaceStateResponse, executor: &str) -> BTreeSet<String> {
    let executors = state.executors.iter().filter(|it| it.executor_id == executor);
    executors.flat_map(|it| it.shards.iter().map(|shard| shard.shard_key.clone())).collect()
}

fn shards(state: &go::WatchNamespaceStateResponse) -> BTreeSet<String> {
    let shards = state.executors.iter().flat_map(|executor| &executor.shards);
    shards.map(|shard| shard.shard_key.clone()).collect()
}

fn set<const N: usize>(keys: [&str; N]) -> BTreeSet<String> {
    keys.map(str::to_owned).into()
}

async fn open_watches(cluster: &Cluster) -> usize {
    let text = http_get(cluster.http(), "/metrics").await.unwrap();
    let line = text.lines().find(|line| line.starts_with("plimsoll_watches{wire=\"sharddist"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}
