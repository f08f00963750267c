//! Keys that somebody else has written, or that were damaged.

use plimsoll_store::{Error, EtcdError, Store};

use super::{Prefix, grant, orders};

#[allow(unreachable_pub, clippy::all, reason = "generated")]
mod api {
    tonic::include_proto!("etcdserverpb");
}

/// Writes past the store.
async fn put(prefix: &Prefix, key: &str, value: &str) {
    let request = api::PutRequest {
        key: format!("{}{key}", prefix.0).into_bytes(),
        value: value.into(),
        lease: 0,
    };
    let request = api::request_op::Request::RequestPut(request);
    write(api::RequestOp { request: Some(request) }).await;
}

async fn delete(prefix: &Prefix, key: &str) {
    let key = format!("{}{key}", prefix.0).into_bytes();
    let request = api::DeleteRangeRequest { key, range_end: Vec::new() };
    let request = api::request_op::Request::RequestDeleteRange(request);
    write(api::RequestOp { request: Some(request) }).await;
}

async fn write(operation: api::RequestOp) {
    let mut etcd =
        api::kv_client::KvClient::connect(super::cluster::shared().to_owned()).await.unwrap();
    etcd.txn(api::TxnRequest { success: vec![operation], ..Default::default() }).await.unwrap();
}

#[tokio::test]
async fn a_damaged_record_of_one_namespace_is_left_out_and_the_others_go_on() {
    let prefix = Prefix::fresh();
    let store = prefix.store().await;
    store.create(orders(), Vec::new()).await.unwrap();
    put(&prefix, "namespaces/broken", "{").await;
    put(&prefix, "something-else/orders", "foreign").await;
    assert_eq!(store.namespaces().await.unwrap(), [orders()]);
}

#[tokio::test]
async fn a_damaged_grant_is_named_and_never_passed_over() {
    let prefix = Prefix::fresh();
    let store = prefix.store().await;
    store.create(orders(), vec![grant("1", 1)]).await.unwrap();
    for value in ["", "no-generation host", "7"] {
        put(&prefix, "grants/orders/2", value).await;
        let error = store.load("orders").await.unwrap_err();
        assert!(matches!(error, Error::Etcd(EtcdError::Damaged { .. })), "{error:?}");
        assert!(error.to_string().contains("grants/orders/2"), "{error}");
    }
    delete(&prefix, "grants/orders/2").await;
    assert_eq!(store.load("orders").await.unwrap().grants.len(), 1);
}
