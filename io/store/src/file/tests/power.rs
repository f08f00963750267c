//! A power failure at any moment: whatever was written since the last flush may be
//! on the disk or not, in any combination. What was acknowledged before is there,
//! and nothing is there by half.
//!
//! The disk keeps a log of what is done to it. For each prefix of the log, images are
//! made of it, with different parts of the unflushed tail, and opened.

use std::fs::File;
use std::io;

use parking_lot::Mutex;
use redb::StorageBackend;
use redb::backends::FileBackend;

use super::*;
use crate::file::disk;

const COMMITS: u64 = 12;
const SHARDS: u64 = 40;
const IMAGES_A_MOMENT: u64 = 4;

#[tokio::test]
async fn loses_nothing_acknowledged_to_a_power_failure() {
    let log = Arc::<Mutex<Vec<Operation>>>::default();
    let acknowledged = commit_some(&log).await;
    let log = std::mem::take(&mut *log.lock());
    // Before the first acknowledgement there need not be a store at all.
    for moment in acknowledged[0]..=log.len() {
        let expected = acknowledged.partition_point(|at| *at <= moment) as u64;
        for seed in 0..IMAGES_A_MOMENT {
            let kept = kept_in(&image(&log[..moment], seed)).await;
            assert!(kept >= expected, "{kept} kept of {expected} at {moment}, seed {seed}");
        }
    }
}

/// Commits generations from 1 on. Returns how long the log was at each answer.
async fn commit_some(log: &Arc<Mutex<Vec<Operation>>>) -> Vec<usize> {
    let dir = folder();
    let store = store_on(&dir, log);
    store.create(namespace(), sweep(SHARDS, 1)).await.unwrap();
    let mut acknowledged = vec![log.lock().len()];
    let epoch = store.lead(NAME).await.unwrap();
    for generation in 2..=COMMITS {
        store.commit(NAME, epoch, sweep(SHARDS * generation, generation)).await.unwrap();
        acknowledged.push(log.lock().len());
    }
    acknowledged
}

/// The one generation that all shards in the image have.
async fn kept_in(image: &[u8]) -> u64 {
    let dir = folder();
    std::fs::write(dir.path().join("plimsoll.redb"), image).unwrap();
    let grants = FileStore::open(dir.path()).unwrap().load(NAME).await.unwrap().grants;
    let generation = grants[0].1.generation;
    let expected = if generation == 1 { SHARDS } else { SHARDS * generation };
    assert_eq!(grants.len() as u64, expected);
    assert!(grants.iter().all(|(_, grant)| grant.generation == generation));
    generation
}

/// The disk after `log`: all that was flushed, and of the rest what `seed` picks.
fn image(log: &[Operation], seed: u64) -> Vec<u8> {
    let flushed = log.iter().rposition(|operation| matches!(operation, Operation::Flush));
    let flushed = flushed.unwrap_or(0);
    let mut image = Vec::new();
    for (index, operation) in log.iter().enumerate() {
        if index <= flushed || picks(seed, index) {
            operation.apply(&mut image);
        }
    }
    image
}

/// All for 0, none for 1, else half of them.
fn picks(seed: u64, index: usize) -> bool {
    match seed {
        0 => true,
        1 => false,
        _ => (seed * 31 + index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1,
    }
}

fn store_on(dir: &TempDir, log: &Arc<Mutex<Vec<Operation>>>) -> FileStore {
    let path = dir.path().join("plimsoll.redb");
    let (name, log) = (path.clone(), Arc::clone(log));
    let open = move || {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&name)
            .map_err(redb::StorageError::from)?;
        let backend = LoggedFile { file: FileBackend::new(file)?, log: Arc::clone(&log) };
        disk::builder(1 << 20).create_with_backend(backend)
    };
    FileStore::on(Disk::with(path, Box::new(open)).unwrap()).unwrap()
}

#[derive(Debug)]
enum Operation {
    Resize(usize),
    Write(usize, Vec<u8>),
    Flush,
}

impl Operation {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Resize(length) => image.resize(*length, 0),
            Self::Write(offset, data) => {
                let end = offset + data.len();
                // A write can be kept where the resize before it was not.
                image.resize(image.len().max(end), 0);
                image[*offset..end].copy_from_slice(data);
            }
            Self::Flush => {}
        }
    }
}

#[derive(Debug)]
struct LoggedFile {
    file: FileBackend,
    log: Arc<Mutex<Vec<Operation>>>,
}

impl LoggedFile {
    fn log(&self, operation: Operation) {
        self.log.lock().push(operation);
    }
}

impl StorageBackend for LoggedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.log(Operation::Resize(len as usize));
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.log(Operation::Flush);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.log(Operation::Write(offset as usize, data.to_vec()));
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
