//! The store of a single server: one redb file, `plimsoll.redb`, in its data
//! directory.
//!
//! Changes go to one writer thread, which makes everything that has arrived in the
//! meantime durable with one flush ([`writer`]); reads run beside it on blocking
//! threads, each against a snapshot. Nothing here blocks the async runtime. Two
//! servers cannot share the file: the second one is refused when it opens it.

mod disk;
mod encoding;
mod load;
mod policies;
mod schema;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{FutureExt, TryFutureExt};
use redb::Database;

use self::disk::Disk;
use self::writer::{Change, Writer};
use crate::local_watch::LocalWatch;
use crate::record::{NamespaceRecord, Stored, Write};
use crate::{Answer, Epoch, Error, Store};

/// How a file is opened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// Bytes of memory for cached pages of the file. A leader reads its namespace
    /// once, so that more than the default of 64 MiB is seldom of use.
    pub cache_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 64 << 20 }
    }
}

/// Keeps namespaces and policies in a file.
///
/// Dropping it finishes the changes handed over so far and waits for them. Its
/// methods have to be called within a tokio runtime.
pub struct FileStore {
    disk: Arc<Disk>,
    writer: Writer,
    watch: Arc<LocalWatch>,
}

impl FileStore {
    /// Opens the store in `dir`, with the default options. Folder and file are
    /// created where they are missing. This blocks, for some 0.2 s with a million
    /// shards, because every page of the file is verified.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(dir, &Options::default())
    }

    /// Where the store in `dir` keeps its file.
    pub fn path_in(dir: impl AsRef<Path>) -> PathBuf {
        dir.as_ref().join(disk::FILE_NAME)
    }

    /// Opens the store in `dir`.
    pub fn open_with(dir: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        Self::on(Disk::open(dir.as_ref(), options.cache_bytes)?)
    }

    fn on(disk: Disk) -> Result<Self, Error> {
        let disk = Arc::new(disk);
        let watch = Arc::new(LocalWatch::default());
        watch.tell(disk.run(policies::newest)?);
        let writer = Writer::start(Arc::clone(&disk), Arc::clone(&watch))?;
        Ok(Self { disk, writer, watch })
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Answer<'_, T> {
        async move {
            let disk = Arc::clone(&self.disk);
            let reading = tokio::task::spawn_blocking(move || disk.run(work)).await;
            reading.unwrap_or_else(|stopped| Err(self.disk.abandoned(&stopped)))
        }
        .boxed()
    }

    fn change(&self, change: Change) -> Answer<'_, Epoch> {
        let settled = self.writer.submit(change);
        async move { settled.await.unwrap_or_else(|_| Err(self.disk.closed())) }.boxed()
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl Store for FileStore {
    fn is_durable(&self) -> bool {
        true
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRecord>> {
        self.read(load::namespaces)
    }

    fn create(&self, record: NamespaceRecord, initial: Vec<Write>) -> Answer<'_, ()> {
        self.change(Change::Create { record, initial }).map_ok(drop).boxed()
    }

    fn delete(&self, namespace: &str) -> Answer<'_, ()> {
        self.change(Change::Delete { namespace: namespace.into() }).map_ok(drop).boxed()
    }

    fn lead(&self, namespace: &str) -> Answer<'_, Epoch> {
        self.change(Change::Lead { namespace: namespace.into() })
    }

    fn load(&self, namespace: &str) -> Answer<'_, Stored> {
        let namespace: Arc<str> = namespace.into();
        let wanted = Arc::clone(&namespace);
        self.read(move |db| load::stored(db, &wanted))
            .map(|found| found?.ok_or(Error::NotFound { namespace }))
            .boxed()
    }

    fn commit(&self, namespace: &str, epoch: Epoch, writes: Vec<Write>) -> Answer<'_, ()> {
        let namespace = namespace.into();
        self.change(Change::Commit { namespace, epoch, writes }).map_ok(drop).boxed()
    }
}
