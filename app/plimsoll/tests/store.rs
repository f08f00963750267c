//! `plimsoll store`: out of one store and into another.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;
use std::process::{Command, Output};

use plimsoll_store::record::{GrantRecord, Kind, NamespaceRecord, Write};
use plimsoll_store::{FileStore, Store};

fn plimsoll(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn fill(folder: &Path) {
    let store = FileStore::open(folder).unwrap();
    let (name, kind) = ("orders".into(), Kind::Fixed { shards: 2 });
    let record = NamespaceRecord { name, kind, settings: Vec::new(), frozen: true };
    let grant = GrantRecord { executor: "host-1".into(), generation: 7 };
    store.create(record, vec![Write::Grant { shard: "1".into(), grant }]).await.unwrap();
}

#[tokio::test]
async fn what_is_exported_can_be_imported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let file = folder.path().join("all.jsonl");
    fill(&old).await;
    let exported = plimsoll(&["store", "export", "--data-dir", text(&old), "-o", text(&file)]);
    assert!(exported.status.success(), "{exported:?}");
    let import = ["store", "import", "--data-dir", text(&new), "-i", text(&file)];
    let imported = plimsoll(&import);
    assert!(imported.status.success(), "{imported:?}");
    let twice = plimsoll(&import);
    assert!(!twice.status.success(), "what is there is not replaced unasked");
    let replaced = plimsoll(&[&import[..], &["--replace"]].concat());
    assert!(replaced.status.success(), "{replaced:?}");
    let (old, new) = (FileStore::open(&old).unwrap(), FileStore::open(&new).unwrap());
    assert_eq!(old.namespaces().await.unwrap(), new.namespaces().await.unwrap());
    assert_eq!(old.load("orders").await.unwrap(), new.load("orders").await.unwrap());
}

#[test]
fn a_store_that_forgets_has_nothing_to_export() {
    let refused = plimsoll(&["store", "export", "--store", "memory"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--store file"), "{said}");
}

#[test]
fn etcd_without_an_address_says_what_to_do() {
    let refused = plimsoll(&["server", "--store", "etcd"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--etcd"), "{said}");
}
