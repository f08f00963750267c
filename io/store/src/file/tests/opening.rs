//! A file that cannot be opened says why, and what to do.

use std::fs;
use std::path::PathBuf;

use redb::TableDefinition;

use super::*;
use crate::Policies;
use crate::file::schema;

fn refusal(dir: impl AsRef<Path>) -> String {
    FileStore::open(dir).unwrap_err().to_string()
}

fn file_in(dir: &TempDir) -> PathBuf {
    dir.path().join("plimsoll.redb")
}

#[test]
fn creates_the_folder_and_the_file() {
    let dir = folder();
    let nested = dir.path().join("var/lib/plimsoll");
    drop(FileStore::open(&nested).unwrap());
    assert!(nested.join("plimsoll.redb").is_file());
}

#[test]
fn refuses_a_file_that_is_in_use() {
    let dir = folder();
    let first = FileStore::open(dir.path()).unwrap();
    let refusal = refusal(dir.path());
    let expected = "plimsoll.redb is in use by another plimsoll server; stop it or choose";
    assert!(refusal.contains(expected), "{refusal}");
    drop(first);
    FileStore::open(dir.path()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn refuses_a_folder_that_may_not_be_written() {
    // Not even root may make folders there.
    let refusal = refusal("/sys/plimsoll");
    assert!(refusal.contains("/sys/plimsoll may not be written: "), "{refusal}");
}

#[test]
fn refuses_a_folder_that_is_a_file() {
    let dir = folder();
    let path = dir.path().join("data");
    fs::write(&path, "").unwrap();
    assert!(matches!(FileStore::open(&path), Err(Error::Io { path: named, .. }) if named == path));
}

#[test]
fn refuses_a_file_of_something_else() {
    let dir = folder();
    fs::write(file_in(&dir), "a letter to my landlord ".repeat(1000)).unwrap();
    let refusal = refusal(dir.path());
    assert!(refusal.contains("plimsoll.redb is damaged or not a plimsoll store"), "{refusal}");
}

#[test]
fn refuses_the_database_of_another_program_and_leaves_it_alone() {
    let dir = folder();
    let database = Database::create(file_in(&dir)).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TableDefinition::<u64, u64>::new("theirs")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(matches!(FileStore::open(dir.path()), Err(Error::Corrupt { .. })));
    let database = Database::create(file_in(&dir)).unwrap();
    assert_eq!(database.begin_write().unwrap().list_tables().unwrap().count(), 1);
}

#[test]
fn refuses_a_newer_schema() {
    let dir = folder();
    drop(FileStore::open(dir.path()).unwrap());
    let database = Database::create(file_in(&dir)).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(schema::META).unwrap().insert(schema::SCHEMA, 7).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let refusal = refusal(dir.path());
    let expected = "by a newer plimsoll (schema 7, this one knows up to 1)";
    assert!(refusal.contains(expected), "{refusal}");
}

#[tokio::test]
async fn opens_a_file_from_before_there_were_policies() {
    let dir = folder();
    fill(&dir).await;
    let database = Database::create(file_in(&dir)).unwrap();
    let transaction = database.begin_write().unwrap();
    assert!(transaction.delete_table(schema::POLICIES).unwrap());
    assert!(transaction.delete_table(schema::POLICY_HEADS).unwrap());
    assert!(transaction.delete_table(schema::POLICY_TEXTS).unwrap());
    transaction.commit().unwrap();
    drop(database);
    let store = FileStore::open(dir.path()).unwrap();
    assert_eq!(store.load(NAME).await.unwrap().grants.len(), 2_000);
    assert!(store.newest_policies().await.unwrap().is_empty());
    assert_eq!(store.policy("menu", None).await.unwrap(), None);
}

#[tokio::test]
async fn notices_a_damaged_byte_wherever_it_matters() {
    let dir = folder();
    fill(&dir).await;
    let sound = fs::read(file_in(&dir)).unwrap();
    let stored = contents(&dir).await.unwrap();
    for offset in (0..sound.len()).step_by(1021) {
        let mut damaged = sound.clone();
        damaged[offset] ^= 0x55;
        fs::write(file_in(&dir), &damaged).unwrap();
        // A byte of an unused page is nobody's loss.
        match contents(&dir).await {
            Ok(read) => assert_eq!(read, stored, "offset {offset}"),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{offset}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn refuses_a_truncated_file() {
    let dir = folder();
    fill(&dir).await;
    let length = fs::metadata(file_in(&dir)).unwrap().len();
    let file = fs::File::options().write(true).open(file_in(&dir)).unwrap();
    for kept in [length / 2, 4096, 100] {
        file.set_len(kept).unwrap();
        let refusal = FileStore::open(dir.path());
        assert!(matches!(refusal, Err(Error::Corrupt { .. })), "{kept}: {refusal:?}");
    }
}

async fn fill(dir: &TempDir) {
    let store = FileStore::open(dir.path()).unwrap();
    store.create(namespace(), sweep(2_000, 1)).await.unwrap();
}

async fn contents(dir: &TempDir) -> Result<Stored, Error> {
    FileStore::open(dir.path())?.load(NAME).await
}
