//! What can go wrong in a store, told to the operator who has to act on it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::policies::MAX_POLICY_BYTES;
use crate::record::Write;
use crate::{Epoch, EtcdError};

/// Why a store did not do what it was asked to.
///
/// It can be cloned, because one failed write can be the end of many commits. An I/O
/// error is part of the text and not a `source()`, so that nobody prints it twice.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("namespace {namespace:?} exists already; choose another name or delete it first")]
    Exists { namespace: Arc<str> },

    #[error("there is no namespace {namespace:?}; create it first")]
    NotFound { namespace: Arc<str> },

    #[error(
        "epoch {epoch} does not lead namespace {namespace:?} any more, {current} does; \
         stop acting for it, or lead and load it again"
    )]
    Fenced { namespace: Arc<str>, epoch: Epoch, current: Epoch },

    #[error(
        "the record of namespace {record:?} was sent to namespace {namespace:?}; \
         commit it to its own namespace"
    )]
    WrongNamespace { namespace: Arc<str>, record: Arc<str> },

    #[error(
        "the newest revision of the policy of {service:?} is {present}, not {after}: somebody else \
         saved in between; look at what changed, and save again"
    )]
    PolicyChanged { service: Arc<str>, after: u64, present: u64 },

    #[error(
        "the policy of {service:?} has {bytes} bytes, at most {MAX_POLICY_BYTES} are kept; \
         shorten it"
    )]
    PolicyTooLong { service: Arc<str>, bytes: usize },

    #[error(
        "{} is in use by another plimsoll server; stop it or choose another data directory",
        path.display()
    )]
    InUse { path: PathBuf },

    #[error(
        "{} may not be written: {cause}; change its permissions or choose another data directory",
        path.display()
    )]
    NotWritable { path: PathBuf, cause: Arc<io::Error> },

    #[error(
        "{} is damaged or not a plimsoll store: {detail}; restore it from a backup, or move it \
         away to start empty",
        path.display()
    )]
    Corrupt { path: PathBuf, detail: String },

    #[error(
        "{} was written by a newer plimsoll (schema {found}, this one knows up to {known}); \
         start that version or a later one",
        path.display()
    )]
    NewerSchema { path: PathBuf, found: u64, known: u64 },

    #[error(
        "{} could not be read or written: {cause}; see that the disk has room and is healthy, \
         then try again",
        path.display()
    )]
    Io { path: PathBuf, cause: Arc<io::Error> },

    #[error(transparent)]
    Etcd(#[from] EtcdError),

    #[error("the store in {} is closed; open it again", path.display())]
    Closed { path: PathBuf },
}

// The refusals that every store makes alike.
impl Error {
    pub(crate) fn check_epoch(namespace: &str, epoch: Epoch, current: Epoch) -> Result<(), Self> {
        if epoch == current {
            return Ok(());
        }
        Err(Self::Fenced { namespace: namespace.into(), epoch, current })
    }

    pub(crate) fn check_names(namespace: &str, writes: &[Write]) -> Result<(), Self> {
        let stray = writes.iter().find_map(|write| match write {
            Write::Namespace(record) if &*record.name != namespace => Some(&record.name),
            _ => None,
        });
        match stray {
            Some(record) => Err(Self::WrongNamespace {
                namespace: namespace.into(),
                record: Arc::clone(record),
            }),
            None => Ok(()),
        }
    }
}
