//! Keys that somebody else has written, or that were damaged.

use plimsoll_store::{Error, EtcdError, Store};

use super::{Prefix, cluster, grant, orders, raw};

async fn put(prefix: &Prefix, key: &str, value: &str) {
    raw::put(cluster::shared(), &format!("{}{key}", prefix.0), value).await;
}

async fn delete(prefix: &Prefix, key: &str) {
    raw::delete(cluster::shared(), &format!("{}{key}", prefix.0)).await;
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
