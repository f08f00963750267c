//! The open file, and what its failures mean to an operator.
//!
//! After an I/O error redb refuses all further work until the file is opened anew.
//! So whoever meets an error closes the file, and whoever comes next opens it: a
//! full disk that has been cleared needs no restart of the server.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use redb::{Builder, Database, DatabaseError};
use tokio::task::JoinError;

use super::schema;
use crate::Error;

pub(super) const FILE_NAME: &str = "plimsoll.redb";

type Opener = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

pub(super) struct Disk {
    path: PathBuf,
    opener: Opener,
    /// Empty from an I/O error until the next use.
    database: RwLock<Option<Database>>,
}

impl Disk {
    /// Opens the file in `dir`, creating both where they are missing.
    pub(super) fn open(dir: &Path, cache_bytes: usize) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|cause| explain(dir, cause.into()))?;
        let path = dir.join(FILE_NAME);
        let file = path.clone();
        let disk = Self::with(path, Box::new(move || builder(cache_bytes).create(&file)))?;
        sync_folder(dir).map_err(|cause| explain(dir, cause.into()))?;
        Ok(disk)
    }

    /// A disk that opens its file by `opener`, now and after every I/O error.
    pub(super) fn with(path: PathBuf, opener: Opener) -> Result<Self, Error> {
        let disk = Self { path, opener, database: RwLock::new(None) };
        drop(disk.opened()?);
        Ok(disk)
    }

    /// Runs `work` on the open file.
    pub(super) fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        let database = self.opened()?;
        let result = work(&database);
        drop(database);
        result.map_err(|fault| self.recover(fault))
    }

    /// What became of work whose thread has gone.
    pub(super) fn abandoned(&self, stopped: &JoinError) -> Error {
        if stopped.is_panic() {
            return Error::Corrupt { path: self.path.clone(), detail: stopped.to_string() };
        }
        self.closed()
    }

    pub(super) fn closed(&self) -> Error {
        Error::Closed { path: self.path.clone() }
    }

    pub(super) fn fault(&self, cause: io::Error) -> Error {
        explain(&self.path, cause.into())
    }

    fn opened(&self) -> Result<MappedRwLockReadGuard<'_, Database>, Error> {
        loop {
            if let Ok(open) = RwLockReadGuard::try_map(self.database.read(), Option::as_ref) {
                return Ok(open);
            }
            self.reopen()?;
        }
    }

    fn reopen(&self) -> Result<(), Error> {
        let mut database = self.database.write();
        if database.is_none() {
            let fresh = (self.opener)().map_err(|fault| explain(&self.path, fault.into()))?;
            self.check_schema(&fresh)?;
            *database = Some(fresh);
            tracing::info!(path = %self.path.display(), "opened the store's file");
        }
        Ok(())
    }

    fn check_schema(&self, database: &Database) -> Result<(), Error> {
        let found = schema::prepare(database).map_err(|fault| explain(&self.path, fault))?;
        if found > schema::VERSION {
            let path = self.path.clone();
            return Err(Error::NewerSchema { path, found, known: schema::VERSION });
        }
        Ok(())
    }

    /// Closes the file, unless the fault is in what it says: that stays as it is.
    fn recover(&self, fault: redb::Error) -> Error {
        if !matches!(fault, redb::Error::Corrupted(_)) {
            *self.database.write() = None;
        }
        explain(&self.path, fault)
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Verifies every page when a file is opened: redb may panic over a damaged page
/// that it meets later.
pub(super) fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes).set_check_integrity_on_open(true);
    builder
}

/// Makes the name of a new file outlive a power failure.
#[cfg(unix)]
fn sync_folder(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

fn explain(path: &Path, fault: redb::Error) -> Error {
    let path = path.to_owned();
    match fault {
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
            Error::InUse { path }
        }
        redb::Error::Io(cause) => explain_io(path, cause),
        redb::Error::Corrupted(detail) => Error::Corrupt { path, detail },
        redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::UpgradeRequired(_) => Error::Corrupt { path, detail: fault.to_string() },
        other => Error::Io { path, cause: Arc::new(io::Error::other(other.to_string())) },
    }
}

fn explain_io(path: PathBuf, cause: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, PermissionDenied, ReadOnlyFilesystem, UnexpectedEof};
    match cause.kind() {
        PermissionDenied | ReadOnlyFilesystem => {
            Error::NotWritable { path, cause: Arc::new(cause) }
        }
        InvalidData | UnexpectedEof => Error::Corrupt { path, detail: cause.to_string() },
        _ => Error::Io { path, cause: Arc::new(cause) },
    }
}
