//! An etcd whose space is used up.

use std::time::Duration;

use plimsoll_store::record::{DrainRecord, Write};
use plimsoll_store::{Elections, Error, EtcdError, EtcdOptions, EtcdStore, Store};

use super::cluster::Members;
use super::orders;

/// A record of a megabyte, which replaces the one before it.
fn large(number: usize) -> Write {
    let reason = number.to_string().repeat(1_000_000 / number.to_string().len());
    let drain = DrainRecord { reason, ..DrainRecord::default() };
    Write::DrainShard { shard: "1".into(), drain }
}

#[tokio::test]
async fn a_full_etcd_says_so_keeps_leases_and_reads_and_is_mended_in_place() {
    let members = Members::with(1, vec!["--quota-backend-bytes=16777216".to_owned()]);
    let store = EtcdStore::connect(&EtcdOptions::new(members.endpoints())).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let server = Elections::join(&store, "a", "about", Duration::from_secs(60)).await.unwrap();
    let leader = server.lead("orders", None).await.unwrap().unwrap();
    let mut refused = None;
    for number in 0..40 {
        refused = store.commit("orders", leader.epoch, vec![large(number)]).await.err();
        if refused.is_some() {
            break;
        }
    }
    assert!(matches!(refused, Some(Error::Etcd(EtcdError::Full { .. }))), "{refused:?}");
    assert!(server.keep_alive().await.unwrap());
    assert_eq!(store.load("orders").await.unwrap().drained_shards.len(), 1);

    mend(&members);
    store.commit("orders", leader.epoch, vec![large(50)]).await.unwrap();
}

/// What docs/operate.md tells people to do, by etcd's gateway.
fn mend(members: &Members) {
    let status = members.post(0, "/v3/maintenance/status", "", "{}");
    members.compact(0, field(&status, "revision").parse().unwrap());
    members.post(0, "/v3/maintenance/defragment", "", "{}");
    let raised = members.post(0, "/v3/maintenance/alarm", "", r#"{"alarm":"NOSPACE"}"#);
    let member = field(&raised[raised.find("alarms").unwrap()..], "memberID");
    let disarm = format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
    members.post(0, "/v3/maintenance/alarm", "", &disarm);
}

fn field<'a>(json: &'a str, name: &str) -> &'a str {
    json.split(&format!(r#""{name}":""#)).nth(1).unwrap().split('"').next().unwrap()
}
