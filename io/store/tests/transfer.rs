//! Exports and imports, between every two kinds of store.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "etcd/cluster.rs"]
#[allow(dead_code, reason = "the tests of etcd use the rest")]
mod cluster;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_store::record::{DrainRecord, GrantRecord, Kind, NamespaceRecord, Stored, Write};
use plimsoll_store::{
    Error, EtcdOptions, EtcdStore, FileStore, MemoryStore, PolicyHead, PolicyRecord, Present,
    Store, TransferError, Transferred, export, import,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tempfile::TempDir;

// === stores ===

async fn etcd() -> Arc<dyn Store> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let prefix = Some(format!("/transfer-{}/", NEXT.fetch_add(1, Ordering::Relaxed)));
    let options = EtcdOptions { prefix, ..EtcdOptions::new([cluster::shared()]) };
    Arc::new(EtcdStore::connect(&options).await.unwrap())
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

async fn exported(store: &Arc<dyn Store>) -> Vec<u8> {
    let mut out = Vec::new();
    export(&**store, &mut out).await.unwrap();
    out
}

async fn imported(
    store: &Arc<dyn Store>,
    export: &[u8],
    present: Present,
) -> Result<Transferred, TransferError> {
    import(&**store, export, present).await
}

/// Every revision of every policy that a store holds, the newest first.
async fn policies(store: &Arc<dyn Store>) -> Vec<PolicyRecord> {
    let mut all = Vec::new();
    for service in store.newest_policies().await.unwrap().keys() {
        for head in store.policy_history(service).await.unwrap() {
            all.extend(store.policy(service, Some(head.revision)).await.unwrap());
        }
    }
    all
}

/// Everything else that it holds.
async fn all(store: &Arc<dyn Store>) -> Vec<(NamespaceRecord, Stored)> {
    let mut all = Vec::new();
    for record in store.namespaces().await.unwrap() {
        let stored = store.load(&record.name).await.unwrap();
        all.push((record, stored));
    }
    all
}

fn namespace(name: &str) -> NamespaceRecord {
    let kind = Kind::Ephemeral;
    NamespaceRecord { name: name.into(), kind, settings: Vec::new(), frozen: false }
}

fn grant(shard: &str, generation: u64) -> Write {
    let grant = GrantRecord { executor: "host-1".into(), generation };
    Write::Grant { shard: shard.into(), grant }
}

/// Two namespaces with a grant each.
async fn two() -> Arc<dyn Store> {
    let store = memory();
    for name in ["orders", "users"] {
        let writes = vec![grant("1", 7), Write::GenerationFloor(1000)];
        store.create(namespace(name), writes).await.unwrap();
    }
    store
}

// === any content ===

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9/%\" \\\\]{1,12}", "\\PC{1,8}"]
}

fn load() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("equal to itself", |x| !x.is_nan()), Just(f64::INFINITY)]
}

fn drain() -> impl Strategy<Value = DrainRecord> {
    (any::<u64>(), "\\PC{0,8}", "\\PC{0,8}").prop_map(|(drained_at_ms, drained_by, reason)| {
        DrainRecord { drained_at_ms, drained_by, reason }
    })
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let grants = btree_map(text(), (text(), any::<u64>()), 0..20).prop_map(|grants| {
        let grants = grants.into_iter().map(|(shard, (executor, generation))| Write::Grant {
            shard: shard.into(),
            grant: GrantRecord { executor: executor.into(), generation },
        });
        grants.collect::<Vec<_>>()
    });
    let shards = btree_map(text(), drain(), 0..4).prop_map(|drains| {
        let drains = drains.into_iter();
        drains.map(|(shard, drain)| Write::DrainShard { shard: shard.into(), drain }).collect()
    });
    let hosts = btree_map(text(), drain(), 0..4).prop_map(|drains| {
        let drains = drains.into_iter();
        drains.map(|(host, drain)| Write::DrainHost { host: host.into(), drain }).collect()
    });
    let loads = btree_map(text(), load(), 0..20).prop_map(|loads| {
        vec![Write::Loads(loads.into_iter().map(|(shard, load)| (shard.into(), load)).collect())]
    });
    let floor = any::<u64>().prop_map(|floor| vec![Write::GenerationFloor(floor)]);
    (grants, shards, hosts, loads, floor)
        .prop_map(|(a, b, c, d, e): (_, Vec<_>, Vec<_>, Vec<_>, Vec<_>)| [a, b, c, d, e].concat())
}

fn revision() -> impl Strategy<Value = PolicyRecord> {
    (any::<u64>(), "\\PC{0,8}", text(), 0_u64..3, "(\\PC|\n){0,40}").prop_map(
        |(saved_at_ms, author, comment, rolled_back_to, text)| {
            let (service, revision) = (Arc::default(), 0);
            let head =
                PolicyHead { service, revision, saved_at_ms, author, comment, rolled_back_to };
            PolicyRecord { head, text: text.into() }
        },
    )
}

/// Revisions of services; the first need not be 1.
fn policy_content() -> impl Strategy<Value = Vec<PolicyRecord>> {
    btree_map(text(), (0_u64..5, vec(revision(), 1..4)), 0..3).prop_map(|services| {
        let revisions = services.into_iter().flat_map(|(service, (before, revisions))| {
            let service: Arc<str> = service.into();
            (before + 1..).zip(revisions).map(move |(revision, mut record)| {
                (record.head.service, record.head.revision) = (service.clone(), revision);
                record
            })
        });
        revisions.collect()
    })
}

fn content() -> impl Strategy<Value = Content> {
    (namespaces(), policy_content())
}

fn namespaces() -> impl Strategy<Value = Vec<(NamespaceRecord, Vec<Write>)>> {
    let kind =
        prop_oneof![Just(Kind::Ephemeral), any::<u32>().prop_map(|n| Kind::Fixed { shards: n })];
    let settings = vec((text(), text()), 0..3);
    let one = (kind, settings, any::<bool>(), writes());
    btree_map("[a-z0-9._-]{1,8}", one, 0..4).prop_map(|spaces| {
        let record = |(name, (kind, settings, frozen, writes)): (String, _)| {
            (NamespaceRecord { name: name.into(), kind, settings, frozen }, writes)
        };
        spaces.into_iter().map(record).collect()
    })
}

type Content = (Vec<(NamespaceRecord, Vec<Write>)>, Vec<PolicyRecord>);

async fn filled((namespaces, policies): Content) -> Arc<dyn Store> {
    let store = memory();
    for (record, writes) in namespaces {
        store.create(record, writes).await.unwrap();
    }
    for record in policies {
        let newest = store.policy(&record.head.service, None).await.unwrap();
        let after = newest.map_or(0, |newest| newest.head.revision);
        store.save_policy(after, record).await.unwrap();
    }
    store
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Into the store and out again.
async fn there_and_back(content: Content, there: Arc<dyn Store>) {
    let source = filled(content).await;
    let first = exported(&source).await;
    imported(&there, &first, Present::Refuse).await.unwrap();
    assert_eq!(all(&there).await, all(&source).await);
    assert_eq!(policies(&there).await, policies(&source).await);
    assert_eq!(exported(&there).await, first, "the same text, byte for byte");
    imported(&there, &first, Present::Replace).await.unwrap();
    assert_eq!(all(&there).await, all(&source).await);
    assert_eq!(policies(&there).await, policies(&source).await);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn anything_goes_into_memory_and_back(content in content()) {
        runtime().block_on(there_and_back(content, memory()));
    }

    #[test]
    fn what_replaces_leaves_nothing_of_what_was(old in content(), new in content()) {
        runtime().block_on(async {
            let (old, new) = (filled(old).await, filled(new).await);
            let kept = all(&old).await.into_iter().map(|(record, _)| record.name);
            let gone: Vec<_> = kept.collect();
            imported(&old, &exported(&new).await, Present::Replace).await.unwrap();
            for (record, wanted) in all(&new).await {
                let stored = old.load(&record.name).await.unwrap();
                prop_assert!(stored.generation_floor >= wanted.generation_floor);
                let stored = Stored { generation_floor: wanted.generation_floor, ..stored };
                prop_assert_eq!(stored, wanted);
                prop_assert!(old.namespaces().await.unwrap().contains(&record));
            }
            let kept = policies(&old).await;
            for (service, head) in &*new.newest_policies().await.unwrap() {
                let mut revisions = kept.iter().filter(|it| it.head.service == *service);
                prop_assert_eq!(revisions.next().map(|it| &it.head), Some(head));
                prop_assert_eq!(revisions.count() + 1, new.policy_history(service).await.unwrap().len());
            }
            let left = old.namespaces().await.unwrap();
            prop_assert!(gone.iter().all(|name| left.iter().any(|it| it.name == *name)));
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn anything_goes_into_a_file_and_back(content in content()) {
        let dir = TempDir::new().unwrap();
        let file = Arc::new(FileStore::open(dir.path()).unwrap());
        runtime().block_on(there_and_back(content, file));
    }

    #[test]
    fn anything_goes_into_etcd_and_back(content in content()) {
        runtime().block_on(async { there_and_back(content, etcd().await).await });
    }

    /// Every byte counts: whatever is changed or cut off is found out, and what has
    /// been imported before that is sound.
    #[test]
    fn a_damaged_export_is_never_taken_for_a_whole_one(
        content in content(), place in any::<prop::sample::Index>(), xor in 1..=255_u8,
    ) {
        runtime().block_on(async {
            let source = filled(content).await;
            let whole = exported(&source).await;
            let at = place.index(whole.len());
            let mut changed = whole.clone();
            changed[at] ^= xor;
            for damaged in [&whole[..at], &changed] {
                let there = memory();
                let error = imported(&there, damaged, Present::Refuse).await;
                prop_assert!(error.is_err(), "{:?}", String::from_utf8_lossy(damaged));
                let source = all(&source).await;
                let there = all(&there).await;
                prop_assert!(there.iter().all(|space| source.contains(space)));
            }
            Ok(())
        })?;
    }
}

// === what is there already ===

#[tokio::test]
async fn a_namespace_with_records_is_not_touched_unless_one_says_so() {
    let (export, there) = (exported(&two().await).await, memory());
    there.create(namespace("users"), vec![grant("2", 5000)]).await.unwrap();
    let error = imported(&there, &export, Present::Refuse).await.unwrap_err();
    assert!(
        matches!(&error, TransferError::Present { namespace, imported: 1 } if namespace == "users")
    );
    assert_eq!(&*there.load("users").await.unwrap().grants[0].0, "2");
    there.delete("orders").await.unwrap();
    let done = imported(&there, &export, Present::Replace).await.unwrap();
    assert_eq!(done.namespaces, 2);
    assert_eq!(&*there.load("users").await.unwrap().grants[0].0, "1");
}

#[tokio::test]
async fn a_namespace_without_records_is_filled() {
    let (export, there) = (exported(&two().await).await, memory());
    there.create(namespace("users"), Vec::new()).await.unwrap();
    imported(&there, &export, Present::Refuse).await.unwrap();
    assert_eq!(there.load("users").await.unwrap().grants.len(), 1);
}

#[tokio::test]
async fn whoever_leads_is_fenced_out_by_a_replacement_and_generations_do_not_sink() {
    let (export, there) = (exported(&two().await).await, memory());
    there.create(namespace("users"), vec![Write::GenerationFloor(5000)]).await.unwrap();
    let epoch = there.lead("users").await.unwrap();
    imported(&there, &export, Present::Replace).await.unwrap();
    let refused = there.commit("users", epoch, vec![grant("9", 6000)]).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    assert_eq!(there.load("users").await.unwrap().generation_floor, 5000);
}

#[tokio::test]
async fn a_hundred_thousand_grants_move_from_memory_to_etcd() {
    let source = memory();
    let all = (0..100_000).map(|shard| grant(&format!("{shard:06}"), shard)).collect();
    source.create(namespace("orders"), all).await.unwrap();
    let there = etcd().await;
    let done = imported(&there, &exported(&source).await, Present::Refuse).await.unwrap();
    assert_eq!(done, Transferred { namespaces: 1, records: 100_000, ..Transferred::default() });
    assert_eq!(there.load("orders").await.unwrap(), source.load("orders").await.unwrap());
}

#[tokio::test]
async fn a_service_with_a_policy_is_not_touched_unless_one_says_so() {
    let policy = |revision, text: &str| PolicyRecord {
        head: PolicyHead {
            service: "menu".into(),
            revision,
            saved_at_ms: 7,
            author: "ada".into(),
            comment: String::new(),
            rolled_back_to: 0,
        },
        text: text.into(),
    };
    let (source, there) = (two().await, memory());
    source.save_policy(0, policy(1, "a")).await.unwrap();
    source.save_policy(1, policy(2, "b")).await.unwrap();
    there.save_policy(0, policy(9, "theirs")).await.unwrap();
    let export = exported(&source).await;
    let error = imported(&there, &export, Present::Refuse).await.unwrap_err();
    let is_told = matches!(&error, TransferError::PolicyPresent { service, imported: 2 }
        if service == "menu");
    assert!(is_told, "{error}");
    assert_eq!(policies(&there).await, [policy(9, "theirs")]);
    let done = imported(&there, &export, Present::Replace).await.unwrap();
    assert_eq!((done.policies, done.revisions), (1, 2));
    assert_eq!(policies(&there).await, [policy(2, "b"), policy(1, "a")]);
    let lines = String::from_utf8(export).unwrap();
    let first = r#"{"policy":{"service":"menu"}}"#;
    let second =
        r#"{"revision":{"revision":1,"saved_at_ms":7,"author":"ada","comment":"","text":"a"}}"#;
    assert!(lines.contains(&format!("{first}\n{second}\n")), "{lines}");
    assert!(lines.ends_with("{\"end_of_export\":{\"namespaces\":2,\"policies\":1}}\n"));
}

// === what is no export ===

async fn refused(text: &str) -> TransferError {
    imported(&memory(), text.as_bytes(), Present::Refuse).await.unwrap_err()
}

#[tokio::test]
async fn other_files_and_newer_exports_are_told_apart() {
    for other in ["", "\n", "hello\n", "{}\n", "{\"grant\":{}}\n"] {
        assert!(matches!(refused(other).await, TransferError::NotAnExport), "{other:?}");
    }
    let newer = refused("{\"plimsoll_export\":{\"version\":3}}\n").await;
    assert!(matches!(newer, TransferError::Newer { found: 3, known: 2 }));
}

#[tokio::test]
async fn an_export_that_was_cut_or_put_together_is_found_out() {
    let whole = String::from_utf8(exported(&two().await).await).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let without_end = lines[..lines.len() - 1].join("\n") + "\n";
    assert!(matches!(refused(&without_end).await, TransferError::CutShort { imported: 2, .. }));
    let twice = refused(&whole.repeat(2)).await;
    assert!(matches!(twice, TransferError::Damaged { .. }), "{twice}");
}

#[tokio::test]
async fn an_export_reads_as_documented() {
    let export = String::from_utf8(exported(&two().await).await).unwrap();
    let lines: Vec<&str> = export.lines().collect();
    assert_eq!(lines[0], r#"{"plimsoll_export":{"version":1}}"#);
    let first = r#"{"namespace":{"name":"orders","kind":"ephemeral","settings":[],"frozen":false,"generation_floor":1000}}"#;
    assert_eq!(lines[1], first);
    assert_eq!(lines[2], r#"{"grant":{"shard":"1","executor":"host-1","generation":7}}"#);
    assert!(lines[3].starts_with(r#"{"end_of_namespace":{"records":1,"xxh3":""#), "{}", lines[3]);
    assert_eq!(lines.last(), Some(&r#"{"end_of_export":{"namespaces":2}}"#));
}
