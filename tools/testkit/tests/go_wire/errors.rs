//! Errors as the Go clients read them: the type is in `grpc-status-details-bin`
//! and nowhere else.

use plimsoll_testkit::go::{EXECUTOR_API, GoClient, Reply};
use plimsoll_testkit::{Cluster, Fixture};
use plimsoll_wire::sharddistributor as go;
use prost::Message;

use crate::common::{api, executor, heartbeat, owner_request};

const TYPES: &str = "type.googleapis.com/uber.cadence.sharddistributor.v1";

#[tokio::test]
async fn every_method_answers_namespace_not_found_with_its_type() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let client = cluster.go().await.unwrap();
    for (method, request) in requests_for("nowhere") {
        let reply = client.call_bytes(&method, &request).await.unwrap();
        let text = "namespace not found nowhere";
        let fields = assert_typed(&reply, 5, text, "NamespaceNotFoundError");
        assert_eq!(fields.text(1), "nowhere", "{method}");
        assert_eq!(fields.numbers(), [1], "{method}");
    }
}

#[tokio::test]
async fn a_shard_that_is_not_there_is_named_with_its_namespace() {
    let cluster =
        Cluster::start([Fixture::fixed("orders", 4), Fixture::ephemeral("queues")]).await.unwrap();
    let client = cluster.go().await.unwrap();
    for (namespace, method) in
        [("orders", "GetShardOwner"), ("orders", "InspectShard"), ("queues", "InspectShard")]
    {
        let request = owner_request(namespace, "4");
        let reply = client.call(&api(method), &request).await.unwrap();
        let text = format!("shard not found {namespace}:4");
        let fields = assert_typed(&reply, 5, &text, "ShardNotFoundError");
        assert_eq!((fields.text(1).as_str(), fields.text(2).as_str()), (namespace, "4"));
    }
}

#[tokio::test]
async fn a_drained_shard_is_a_failed_precondition_with_its_type() {
    let cluster =
        Cluster::start([Fixture::fixed("orders", 4), Fixture::ephemeral("queues")]).await.unwrap();
    let client = cluster.go().await.unwrap();
    for namespace in ["orders", "queues"] {
        drain(&client, namespace, "2").await;
        for method in ["GetShardOwner", "InspectShard"] {
            let reply = client.call(&api(method), &owner_request(namespace, "2")).await.unwrap();
            let text = format!("shard drained {namespace}:2");
            let fields = assert_typed(&reply, 9, &text, "ShardDrainedError");
            assert_eq!((fields.text(1).as_str(), fields.text(2).as_str()), (namespace, "2"));
            assert_eq!(fields.numbers(), [1, 2]);
        }
    }
}

#[tokio::test]
async fn an_executor_that_is_not_known_is_not_found() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let (namespace, executor_id) = ("orders".to_owned(), "who@1".to_owned());
    let request = go::GetExecutorStateRequest { namespace, executor_id };
    let reply = client.call(&api("GetExecutorState"), &request).await.unwrap();
    assert_eq!((reply.code(), reply.message().as_str()), (5, "executor not found orders:who@1"));
    assert_eq!(reply.typed().unwrap(), None);
}

#[tokio::test]
async fn no_trailer_comes_twice_and_none_is_of_our_own_making() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let mut replies = Vec::new();
    for namespace in ["orders", "nowhere"] {
        for (method, request) in requests_for(namespace) {
            replies.push(client.call_bytes(&method, &request).await.unwrap());
        }
    }
    let gopher = executor(&cluster, "orders", "a/b");
    let bad = gopher.request(go::ExecutorStatus::Active);
    replies.push(client.call(&heartbeat(), &bad).await.unwrap());
    for reply in replies {
        for name in reply.trailers.keys() {
            let values = reply.trailers.get_all(name).iter().count();
            assert_eq!(values, 1, "{name} in {reply:?}");
        }
        let service = reply.trailers.get("rpc-service");
        assert!(service.is_none_or(|service| service == "shard-distributor"), "{reply:?}");
        let known = ["grpc-status", "grpc-message", "grpc-status-details-bin", "rpc-service"];
        let of_the_head = ["content-type", "date", "content-length"];
        let unknown = |name: &&http::HeaderName| {
            !known.contains(&name.as_str()) && !of_the_head.contains(&name.as_str())
        };
        assert_eq!(reply.trailers.keys().find(unknown), None, "{reply:?}");
        assert_eq!(reply.http_status, 200);
    }
}

#[tokio::test]
async fn no_message_holds_a_percent_sign_whatever_the_caller_writes() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let client = cluster.go().await.unwrap();
    let odd = "50%d%s%";
    let mut replies = Vec::new();
    for (method, request) in requests_for(odd) {
        replies.push(client.call_bytes(&method, &request).await.unwrap());
    }
    let state = go::GetExecutorStateRequest { namespace: "orders".into(), executor_id: odd.into() };
    replies.push(client.call(&api("GetExecutorState"), &state).await.unwrap());
    for method in ["GetShardOwner", "InspectShard"] {
        replies.push(client.call(&api(method), &owner_request("orders", odd)).await.unwrap());
    }
    let keys = vec![format!("{odd}/")];
    let drain = go::DrainShardsRequest { namespace: "orders".into(), shard_keys: keys };
    replies.push(client.call(&api("DrainShards"), &drain).await.unwrap());
    for (id, host, load) in [("a/%d", "h", 1.0), ("a", "%d/", 1.0), ("a", "h", f64::NAN)] {
        let mut gopher = executor(&cluster, "orders", id);
        gopher.host = Some(host.to_owned());
        let mut beat = gopher.request(go::ExecutorStatus::Active);
        let report = go::ShardStatusReport { status: 1, shard_load: load };
        beat.shard_status_reports.insert(odd.to_owned(), report);
        replies.push(client.call(&heartbeat(), &beat).await.unwrap());
    }
    for reply in replies {
        assert_ne!(reply.code(), 0);
        assert!(!reply.message().contains('%'), "{}", reply.message());
        let typed = reply.typed().unwrap();
        assert!(typed.is_none_or(|typed| !typed.message.contains('%')));
    }
}

#[tokio::test]
async fn unknown_methods_and_services_are_unimplemented() {
    let cluster = Cluster::start([]).await.unwrap();
    let client = cluster.go().await.unwrap();
    for path in [&api("NoSuchMethod"), &format!("{EXECUTOR_API}/Beat"), "/no.such.Service/Call"] {
        assert_eq!(client.call_bytes(path, &[]).await.unwrap().code(), 12, "{path}");
    }
}

/// Every method that names a namespace, with the least that it needs.
fn requests_for(namespace: &str) -> Vec<(String, Vec<u8>)> {
    let ns = || namespace.to_owned();
    let gopher =
        plimsoll_testkit::go::GoExecutor::new(([127, 0, 0, 1], 1).into(), namespace, "a@1");
    let keys = || vec!["0".to_owned()];
    let host = go::DrainedHost { hostname: "h".to_owned(), ..go::DrainedHost::default() };
    let drain_hosts = go::DrainHostsRequest { namespace: ns(), hosts: vec![host] };
    let undrain_hosts =
        go::UndrainHostsRequest { namespace: ns(), hostnames: vec!["h".to_owned()] };
    let state = go::GetExecutorStateRequest { namespace: ns(), executor_id: "a@1".to_owned() };
    let drain = go::DrainShardsRequest { namespace: ns(), shard_keys: keys() };
    let undrain = go::UndrainShardsRequest { namespace: ns(), shard_keys: keys() };
    let only_namespace = go::GetNamespaceStateRequest { namespace: ns() }.encode_to_vec();
    let mut all = vec![
        (heartbeat(), gopher.request(go::ExecutorStatus::Active).encode_to_vec()),
        (api("GetShardOwner"), owner_request(namespace, "0").encode_to_vec()),
        (api("InspectShard"), owner_request(namespace, "0").encode_to_vec()),
        (api("GetExecutorState"), state.encode_to_vec()),
        (api("DrainShards"), drain.encode_to_vec()),
        (api("UndrainShards"), undrain.encode_to_vec()),
        (api("DrainHosts"), drain_hosts.encode_to_vec()),
        (api("UndrainHosts"), undrain_hosts.encode_to_vec()),
    ];
    for method in [
        "GetNamespaceState",
        "GetDrainedShards",
        "GetNamespaceLoads",
        "GetDrainedHosts",
        "GetFullNamespaceState",
        "ForceResetNamespace",
    ] {
        all.push((api(method), only_namespace.clone()));
    }
    all
}

async fn drain(client: &GoClient, namespace: &str, shard: &str) {
    let (namespace, shard_keys) = (namespace.to_owned(), vec![shard.to_owned()]);
    let request = go::DrainShardsRequest { namespace, shard_keys };
    assert_eq!(client.call(&api("DrainShards"), &request).await.unwrap().code(), 0);
}

/// Checks what `ToError` of the Go client looks at; gives the detail's fields.
fn assert_typed(
    reply: &Reply,
    code: u32,
    message: &str,
    name: &str,
) -> plimsoll_testkit::proto::Fields {
    assert_eq!((reply.code(), reply.message().as_str()), (code, message));
    let typed = reply.typed().unwrap().unwrap();
    assert_eq!((typed.code, typed.message.as_str()), (u64::from(code), message));
    assert_eq!(typed.type_url, format!("{TYPES}.{name}"));
    typed.fields
}
