//! etcd without the store: to write past it, and to see what has really happened.

use std::collections::BTreeMap;

#[allow(unreachable_pub, clippy::all, reason = "generated")]
pub(crate) mod api {
    tonic::include_proto!("etcdserverpb");
}

use api::request_op::Request;
use api::watch_request::RequestUnion;

/// One change of a key: its revision, and what it holds since; `None`: it is gone.
pub(crate) type Step = (i64, String, Option<String>);

/// Puts a key and returns the revision of that.
pub(crate) async fn put(endpoint: &str, key: &str, value: &str) -> i64 {
    let (key, value) = (key.into(), value.into());
    write(endpoint, Request::RequestPut(api::PutRequest { key, value, lease: 0 })).await
}

/// Deletes a key and returns the revision of that.
pub(crate) async fn delete(endpoint: &str, key: &str) -> i64 {
    let (key, range_end) = (key.into(), Vec::new());
    write(endpoint, Request::RequestDeleteRange(api::DeleteRangeRequest { key, range_end })).await
}

async fn write(endpoint: &str, request: Request) -> i64 {
    let mut etcd = kv(endpoint).await;
    let success = vec![api::RequestOp { request: Some(request) }];
    let answer = etcd.txn(api::TxnRequest { success, ..Default::default() }).await.unwrap();
    answer.into_inner().header.unwrap().revision
}

async fn kv(endpoint: &str) -> api::kv_client::KvClient<tonic::transport::Channel> {
    api::kv_client::KvClient::connect(endpoint.to_owned()).await.unwrap()
}

/// Every key that begins so, with the lease that it hangs on.
pub(crate) async fn leases(endpoint: &str, prefix: &str) -> BTreeMap<String, i64> {
    let request =
        api::RangeRequest { key: prefix.into(), range_end: end_of(prefix), ..Default::default() };
    let found = kv(endpoint).await.range(request).await.unwrap().into_inner().kvs;
    found.into_iter().map(|kv| (text(kv.key), kv.lease)).collect()
}

/// What has happened to the keys that begin so, in `from..=to`, told by one member that
/// is well: `to` must be the revision of such a change. Keys are without the prefix.
pub(crate) async fn history(endpoint: &str, prefix: &str, from: i64, to: i64) -> Vec<Step> {
    let mut etcd = api::watch_client::WatchClient::connect(endpoint.to_owned()).await.unwrap();
    let create = api::WatchCreateRequest {
        key: prefix.into(),
        range_end: end_of(prefix),
        start_revision: from,
        ..Default::default()
    };
    let create = api::WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
    let asked = futures::StreamExt::chain(tokio_stream::once(create), futures::stream::pending());
    let mut stream = etcd.watch(asked).await.unwrap().into_inner();
    let mut steps: Vec<Step> = Vec::new();
    while steps.last().is_none_or(|step| step.0 < to) {
        let response = stream.message().await.unwrap().unwrap();
        assert_eq!(response.compact_revision, 0, "asked too late");
        steps.extend(response.events.into_iter().map(|event| step(prefix, event)));
    }
    steps
}

fn step(prefix: &str, event: api::Event) -> Step {
    let is_put = event.r#type == i32::from(api::event::EventType::Put);
    let kv = event.kv.unwrap();
    let key = text(kv.key).strip_prefix(prefix).unwrap().to_owned();
    (kv.mod_revision, key, is_put.then(|| text(kv.value)))
}

/// A prefix ends with `/`, and `0` follows it.
fn end_of(prefix: &str) -> Vec<u8> {
    format!("{}0", prefix.strip_suffix('/').unwrap()).into_bytes()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}
