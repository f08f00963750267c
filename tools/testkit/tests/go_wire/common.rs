//! What most of these tests do first.

use plimsoll_testkit::go::{API, EXECUTOR_API, GoExecutor, Reply};
use plimsoll_testkit::proto::Fields;
use plimsoll_testkit::{Cluster, SOON, eventually};
use plimsoll_wire::sharddistributor as go;

pub(crate) fn api(method: &str) -> String {
    format!("{API}/{method}")
}

pub(crate) fn heartbeat() -> String {
    format!("{EXECUTOR_API}/Heartbeat")
}

pub(crate) fn owner_request(namespace: &str, shard_key: &str) -> go::GetShardOwnerRequest {
    go::GetShardOwnerRequest { shard_key: shard_key.to_owned(), namespace: namespace.to_owned() }
}

pub(crate) fn watch_request(namespace: &str) -> go::WatchNamespaceStateRequest {
    go::WatchNamespaceStateRequest { namespace: namespace.to_owned() }
}

pub(crate) fn executor(cluster: &Cluster, namespace: &str, id: &str) -> GoExecutor {
    GoExecutor::new(cluster.grpc(), namespace, id)
}

/// Beats until it runs so many shards.
pub(crate) async fn beat_until(executor: &mut GoExecutor, shards: usize) {
    let executor = tokio::sync::Mutex::new(executor);
    eventually(SOON, "the executor runs its shards", || async {
        let mut executor = executor.lock().await;
        executor.beat().await.unwrap();
        (executor.shards().len() == shards).then_some(())
    })
    .await;
}

/// A good answer, taken apart by hand.
pub(crate) fn good(reply: &Reply) -> Fields {
    reply.fields().unwrap()
}
