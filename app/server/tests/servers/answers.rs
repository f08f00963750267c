//! Any server answers any client.

use std::sync::Arc;

use plimsoll_server::Server;
use plimsoll_wire::{sharddistributor as go, v1};
use tonic::Code;

use super::etcd::Etcd;
use super::executor::{Oracle, executors};
use super::fleet::{self, SOON, eventually, leader, namespace};

/// How many calls this server has passed on.
fn passed_on(server: &Server) -> u64 {
    let text = server.metrics.text();
    let count = text.lines().find_map(|line| line.strip_prefix("plimsoll_forwarded_calls_total "));
    count.unwrap().parse().unwrap()
}

fn addresses(servers: &[Server]) -> Vec<String> {
    servers.iter().map(|server| server.grpc.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_and_spectators_are_served_by_whichever_server_they_ask() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 3, &[namespace("orders", 24)]).await;
    let all = addresses(&servers);
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "orders", 6, &all);
    eventually(SOON, "all shards run", || async { (oracle.running() == 24).then_some(()) }).await;
    let leads = leader(&all[0], "orders").await;
    for server in &all {
        assert_eq!(leader(server, "orders").await, leads);
        let lookup = v1::LookupRequest { namespace: "orders".into(), shard_key: "7".into() };
        let found = eventually(SOON, "the map has come", || async {
            fleet::routing(server).lookup(lookup.clone()).await.ok()
        });
        let found = found.await;
        let is_replica = found.metadata().contains_key("plimsoll-replica-age-ms");
        assert_eq!(is_replica, *server != leads, "{server}");
        let request = v1::WatchRequest { namespace: "orders".into(), ..Default::default() };
        let mut watch = fleet::routing(server).watch(request).await.unwrap().into_inner();
        let Some(v1::watch_response::Message::Snapshot(part)) =
            watch.message().await.unwrap().unwrap().message
        else {
            panic!("no snapshot")
        };
        assert_eq!(part.routes.len(), 24);
    }
    oracle.assert_never_double();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_at_another_server_where_it_was() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 2, &[namespace("carts", 0)]).await;
    let all = addresses(&servers);
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "carts", 2, &all);
    let look = |server: usize, key: &str| {
        let request = v1::LookupRequest { namespace: "carts".into(), shard_key: key.into() };
        let mut routing = fleet::routing(&all[server]);
        async move { routing.lookup(request).await }
    };
    eventually(SOON, "a shard is made", || async { look(0, "a").await.ok() }).await;
    let request = v1::WatchRequest { namespace: "carts".into(), ..Default::default() };
    let mut first = fleet::routing(&all[0]).watch(request).await.unwrap().into_inner();
    let Some(v1::watch_response::Message::Snapshot(part)) =
        first.message().await.unwrap().unwrap().message
    else {
        panic!("no snapshot")
    };
    look(1, "b").await.unwrap();
    let (epoch, revision) = (part.epoch, part.revision);
    let request = v1::WatchRequest { namespace: "carts".into(), epoch, revision };
    let mut second = fleet::routing(&all[1]).watch(request).await.unwrap().into_inner();
    // It may not have heard of it yet, and says first that it is up to date.
    let mut message = second.message().await.unwrap().unwrap().message.unwrap();
    while matches!(&message, v1::watch_response::Message::KeepAlive(_)) {
        message = second.message().await.unwrap().unwrap().message.unwrap();
    }
    assert!(
        matches!(&message, v1::watch_response::Message::Delta(it) if it.from == revision),
        "{message:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn go_clients_are_served_by_whichever_server_they_ask() {
    let etcd = Etcd::start();
    let servers =
        fleet::start_all(&etcd, 3, &[namespace("orders", 6), namespace("carts", 0)]).await;
    let all = addresses(&servers);
    let beat = |namespace: &str, reported: Vec<String>| go::HeartbeatRequest {
        namespace: namespace.into(),
        executor_id: "gopher".into(),
        status: go::ExecutorStatus::Active.into(),
        shard_status_reports: reported
            .into_iter()
            .map(|key| (key, go::ShardStatusReport { status: 1, shard_load: 1.0 }))
            .collect(),
        ..Default::default()
    };
    for namespace in ["orders", "carts"] {
        leader(&all[0], namespace).await;
    }
    let mut mine = Vec::new();
    for round in 0..40 {
        let answer =
            fleet::go_executor(&all[round % 3]).heartbeat(beat("orders", mine)).await.unwrap();
        mine = answer.into_inner().shard_assignments.into_keys().collect();
        if mine.len() == 6 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(mine.len(), 6);
    for (number, server) in all.iter().enumerate() {
        fleet::go_executor(server).heartbeat(beat("carts", Vec::new())).await.unwrap();
        let owner =
            go::GetShardOwnerRequest { shard_key: format!("k{number}"), namespace: "carts".into() };
        let owner = fleet::go(server).get_shard_owner(owner).await.unwrap().into_inner();
        assert_eq!(owner.owner, "gopher");
        let state = go::GetNamespaceStateRequest { namespace: "orders".into() };
        let state = fleet::go(server).get_namespace_state(state).await.unwrap().into_inner();
        assert_eq!(state.executors.len(), 1);
        let list = fleet::go(server).list_namespaces(go::ListNamespacesRequest {}).await.unwrap();
        assert_eq!(list.into_inner().namespaces.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_a_namespace_is_told_over_http_by_whichever_server_is_asked() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 3, &[namespace("orders", 24)]).await;
    let all = addresses(&servers);
    let oracle = Arc::new(Oracle::default());
    let _executors = executors(&oracle, "orders", 6, &all);
    eventually(SOON, "all shards run", || async { (oracle.running() == 24).then_some(()) }).await;
    let leads = leader(&all[0], "orders").await;
    for server in &servers {
        let (is_other, before) = (server.grpc.to_string() != leads, passed_on(server));
        let told = fleet::http_get(server.http, "/api/v1/namespaces/orders").await.unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["name"], &told["shards"]), (&"orders".into(), &24.into()), "{told}");
        assert_eq!(told["shards_without_owner"], 0, "{told}");
        let hosts = fleet::http_get(server.http, "/api/v1/namespaces/orders/hosts").await.unwrap();
        let hosts: Vec<serde_json::Value> = serde_json::from_str(&hosts).unwrap();
        let shards: u64 = hosts.iter().filter_map(|host| host["shards"].as_u64()).sum();
        assert_eq!((hosts.len(), shards), (6, 24), "{hosts:?}");
        // By the leader's clock: nobody was silent for as long as his lease.
        assert!(hosts.iter().all(|host| host["silent_ms"].as_u64().unwrap() < 3000), "{hosts:?}");
        assert_eq!(passed_on(server) - before, if is_other { 2 } else { 0 });
        let missing = fleet::http_get(server.http, "/api/v1/namespaces/nowhere").await.unwrap_err();
        assert!(missing.contains(" 404 "), "{missing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_are_made_and_deleted_at_any_server() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 2, &[]).await;
    let all = addresses(&servers);
    let create = |name: &str| v1::CreateNamespaceRequest {
        name: name.into(),
        r#type: "fixed".into(),
        shard_num: 4,
        ..Default::default()
    };
    fleet::admin(&all[0]).create_namespace(create("a")).await.unwrap();
    let twice = fleet::admin(&all[1]).create_namespace(create("a")).await.unwrap_err();
    assert_eq!(twice.code(), Code::AlreadyExists);
    leader(&all[1], "a").await;
    let delete = v1::DeleteNamespaceRequest { name: "a".into() };
    fleet::admin(&all[1]).delete_namespace(delete).await.unwrap();
    let describe = || v1::DescribeNamespaceRequest { name: "a".into() };
    for server in &all {
        let gone = eventually(SOON, "it is gone", || async {
            let answer = fleet::admin(server).describe_namespace(describe()).await;
            answer.err().filter(|status| status.code() == Code::NotFound)
        });
        gone.await;
    }
    let too_soon = fleet::admin(&all[0]).create_namespace(create("a")).await;
    // Nobody ran anything of it: but no server can know that of another.
    assert!(too_soon.is_ok() || too_soon.unwrap_err().code() == Code::FailedPrecondition);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_cannot_take_a_namespace() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 2, &[namespace("orders", 4)]).await;
    let all = addresses(&servers);
    leader(&all[0], "orders").await;
    let elector = &servers[0].servers.as_ref().unwrap().elector;
    let epoch = elector.view().leaders["orders"].epoch.0;
    for key in [None, Some("0123")] {
        let mut request = tonic::Request::new(v1::TakeOverRequest {
            namespace: "orders".into(),
            server: elector.me.to_string(),
            epoch,
            state: Some(v1::HandoverState::default()),
            history: Vec::new(),
        });
        if let Some(key) = key {
            request.metadata_mut().insert("plimsoll-server-key", key.parse().unwrap());
        }
        let refused = fleet::peer(&all[1]).take_over(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
}
