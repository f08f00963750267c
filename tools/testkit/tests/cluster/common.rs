//! What most of these tests need.

use std::sync::Arc;

use plimsoll_client::{Executor, Spectator};
use plimsoll_testkit::{Cluster, Oracle, SOON, Worker, eventually};
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::v1;

/// Workers "a", "b", "c", ... with a load of 1 for every shard.
pub(crate) async fn workers(
    cluster: &Cluster,
    namespace: &str,
    ids: &[&str],
    oracle: &Arc<Oracle>,
) -> Vec<Executor> {
    let url = &cluster.url();
    let start = async |id: &&str| Worker::new(id, oracle).run(url, namespace).await;
    futures::future::try_join_all(ids.iter().map(start)).await.unwrap()
}

/// Waits until so many shards run, and the spectator knows where.
pub(crate) async fn running(oracle: &Oracle, spectator: &Spectator, shards: usize) {
    eventually(SOON, "every shard runs and is known", || async {
        let running = oracle.running();
        let known = |(shard, runner): (&String, &String)| {
            spectator.try_lookup(shard).is_some_and(|owner| owner.executor_id() == runner)
        };
        (running.len() == shards && running.iter().all(known)).then_some(())
    })
    .await;
}

/// Waits until nothing is without owner or in handover.
pub(crate) async fn at_rest(cluster: &Cluster, namespace: &str) -> v1::DescribeNamespaceResponse {
    eventually(SOON, "nothing is in handover", || async {
        let it = cluster.describe(namespace).await.unwrap();
        (it.shards_in_handover == 0 && it.shards_without_owner == 0).then_some(it)
    })
    .await
}

pub(crate) async fn drain_host(cluster: &Cluster, namespace: &str, host: &str) {
    let reason = "maintenance".to_owned();
    let host = go::DrainedHost { hostname: host.to_owned(), reason, ..go::DrainedHost::default() };
    let request = go::DrainHostsRequest { namespace: namespace.to_owned(), hosts: vec![host] };
    order(cluster, "DrainHosts", &request).await;
}

pub(crate) async fn undrain_host(cluster: &Cluster, namespace: &str, host: &str) {
    let (namespace, hostnames) = (namespace.to_owned(), vec![host.to_owned()]);
    order(cluster, "UndrainHosts", &go::UndrainHostsRequest { namespace, hostnames }).await;
}

pub(crate) async fn drain_shard(cluster: &Cluster, namespace: &str, shard: &str) {
    let (namespace, shard_keys) = (namespace.to_owned(), vec![shard.to_owned()]);
    order(cluster, "DrainShards", &go::DrainShardsRequest { namespace, shard_keys }).await;
}

pub(crate) async fn undrain_shard(cluster: &Cluster, namespace: &str, shard: &str) {
    let (namespace, shard_keys) = (namespace.to_owned(), vec![shard.to_owned()]);
    order(cluster, "UndrainShards", &go::UndrainShardsRequest { namespace, shard_keys }).await;
}

async fn order(cluster: &Cluster, method: &str, request: &impl prost::Message) {
    let path = format!("{}/{method}", plimsoll_testkit::go::API);
    let reply = cluster.go().await.unwrap().call(&path, request).await.unwrap();
    assert_eq!(reply.code(), 0, "{}", reply.message());
}
