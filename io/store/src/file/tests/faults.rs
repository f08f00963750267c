//! A disk that fails and recovers: no restart, no loss, no half batch.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::{join_all, try_join_all};
use redb::StorageBackend;
use redb::backends::FileBackend;

use super::*;
use crate::file::disk;

#[tokio::test]
async fn goes_on_after_the_disk_was_full() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    let epoch = led(&store).await;
    store.commit(NAME, epoch, sweep(2_000, 1)).await.unwrap();
    disk.is_full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let failure = store.commit(NAME, epoch, sweep(2_000, 2)).await.unwrap_err();
        assert!(matches!(failure, Error::Io { .. }), "{failure:?}");
        assert!(failure.to_string().contains("plimsoll.redb could not be read or written"));
    }
    disk.is_full.store(false, Ordering::SeqCst);
    assert_eq!(generations(&store).await, [1]);
    store.commit(NAME, epoch, sweep(2_000, 3)).await.unwrap();
    drop(store);
    assert_eq!(generations(&FileStore::open(dir.path()).unwrap()).await, [3]);
}

#[tokio::test]
async fn goes_on_after_a_flush_has_failed() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    let epoch = led(&store).await;
    store.commit(NAME, epoch, sweep(2_000, 1)).await.unwrap();
    disk.flush_fails.store(true, Ordering::SeqCst);
    let failure = store.commit(NAME, epoch, sweep(2_000, 2)).await.unwrap_err();
    assert!(failure.to_string().contains("the platter fell off"), "{failure}");
    disk.flush_fails.store(false, Ordering::SeqCst);
    // Nobody knows whether it was kept, but if so it was kept whole.
    let kept = generations(&store).await;
    assert!(kept == [1] || kept == [2], "{kept:?}");
    store.commit(NAME, epoch, sweep(2_000, 2)).await.unwrap();
    assert_eq!(generations(&store).await, [2]);
}

#[tokio::test]
async fn reads_again_after_a_read_has_failed() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    store.create(namespace(), sweep(20_000, 1)).await.unwrap();
    drop(store);
    let store = store_on(&dir, &disk);
    disk.reads_fail.store(true, Ordering::SeqCst);
    let failure = store.load(NAME).await.unwrap_err();
    assert!(matches!(failure, Error::Io { .. }), "{failure:?}");
    disk.reads_fail.store(false, Ordering::SeqCst);
    assert_eq!(generations(&store).await, [1]);
    let epoch = store.lead(NAME).await.unwrap();
    store.commit(NAME, epoch, sweep(20_000, 2)).await.unwrap();
    assert_eq!(generations(&store).await, [2]);
}

#[tokio::test]
async fn fails_every_commit_of_a_group_that_could_not_be_kept() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    let epoch = led(&store).await;
    disk.is_full.store(true, Ordering::SeqCst);
    let commits = (0..50).map(|generation| store.commit(NAME, epoch, sweep(2_000, generation)));
    for failure in join_all(commits).await {
        assert!(matches!(failure, Err(Error::Io { .. })), "{failure:?}");
    }
    disk.is_full.store(false, Ordering::SeqCst);
    assert_eq!(generations(&store).await, [0; 0]);
}

#[tokio::test]
async fn keeps_many_commits_with_few_flushes() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    let epoch = led(&store).await;
    let before = disk.flushes.load(Ordering::SeqCst);
    let commits = (0..500).map(|n| store.commit(NAME, epoch, vec![grant(n.to_string(), n)]));
    try_join_all(commits).await.unwrap();
    let flushes = disk.flushes.load(Ordering::SeqCst) - before;
    assert!(flushes < 100, "{flushes} flushes");
    assert_eq!(store.load(NAME).await.unwrap().grants.len(), 500);
}

#[tokio::test]
async fn flushes_nothing_for_a_fenced_commit() {
    let (dir, disk) = (folder(), Arc::<Health>::default());
    let store = store_on(&dir, &disk);
    let epoch = led(&store).await;
    store.lead(NAME).await.unwrap();
    let before = disk.flushes.load(Ordering::SeqCst);
    store.commit(NAME, epoch, sweep(10, 1)).await.unwrap_err();
    assert_eq!(disk.flushes.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn finishes_what_it_was_given_before_it_is_gone() {
    let dir = folder();
    let store = FileStore::open(dir.path()).unwrap();
    let epoch = led(&store).await;
    drop(store.commit(NAME, epoch, sweep(10, 1)));
    drop(store);
    assert_eq!(generations(&FileStore::open(dir.path()).unwrap()).await, [1]);
}

async fn led(store: &FileStore) -> Epoch {
    store.create(namespace(), Vec::new()).await.unwrap();
    store.lead(NAME).await.unwrap()
}

/// The generations of all grants, each once.
async fn generations(store: &FileStore) -> Vec<u64> {
    let grants = store.load(NAME).await.unwrap().grants;
    let mut generations: Vec<_> = grants.iter().map(|(_, grant)| grant.generation).collect();
    generations.dedup();
    generations
}

fn store_on(dir: &TempDir, health: &Arc<Health>) -> FileStore {
    let path = dir.path().join("plimsoll.redb");
    let (name, health) = (path.clone(), Arc::clone(health));
    let open = move || {
        let mut how = File::options();
        how.read(true).write(true).create(true).truncate(false);
        let file = how.open(&name).map_err(redb::StorageError::from)?;
        let file = FileBackend::new(file)?;
        let backend = AilingFile { file, health: Arc::clone(&health) };
        // So small a cache that most reads reach the file.
        disk::builder(64 << 10).create_with_backend(backend)
    };
    FileStore::on(Disk::with(path, Box::new(open)).unwrap()).unwrap()
}

/// How a disk is. The test and every file opened on it share it.
#[derive(Debug, Default)]
struct Health {
    is_full: AtomicBool,
    flush_fails: AtomicBool,
    reads_fail: AtomicBool,
    flushes: AtomicU64,
}

fn check(ails: &AtomicBool, error: impl FnOnce() -> io::Error) -> io::Result<()> {
    if ails.load(Ordering::SeqCst) { Err(error()) } else { Ok(()) }
}

#[derive(Debug)]
struct AilingFile {
    file: FileBackend,
    health: Arc<Health>,
}

impl AilingFile {
    fn check_room(&self) -> io::Result<()> {
        check(&self.health.is_full, || io::ErrorKind::StorageFull.into())
    }
}

impl StorageBackend for AilingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        check(&self.health.reads_fail, || io::Error::other("a scratch"))?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_room()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.health.flushes.fetch_add(1, Ordering::SeqCst);
        check(&self.health.flush_fails, || io::Error::other("the platter fell off"))?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_room()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
