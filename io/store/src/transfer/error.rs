//! What can go wrong on the way, told to whoever makes a backup.

use std::io;

use crate::Error;

/// Why an export or import ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    #[error(transparent)]
    Store(#[from] Error),

    #[error("the export could not be read or written: {0}; see that the disk has room")]
    Io(#[from] io::Error),

    #[error("line 1 is not the beginning of a plimsoll export; choose another file")]
    NotAnExport,

    #[error(
        "the export was written by a newer plimsoll (version {found}, this one knows up to \
         {known}); import it with that one or a later one"
    )]
    Newer { found: u32, known: u32 },

    #[error(
        "line {line} of the export is damaged: {detail}; take another copy. Namespaces and \
         policies that were whole before it are imported: {imported}"
    )]
    Damaged { line: u64, detail: String, imported: u64 },

    #[error(
        "the export ends too soon, at line {line}; take another copy. Namespaces and policies \
         that were whole are imported: {imported}"
    )]
    CutShort { line: u64, imported: u64 },

    #[error(
        "namespace {namespace:?} has records already; delete it, or import with replacement. \
         Namespaces before it are imported: {imported}"
    )]
    Present { namespace: String, imported: u64 },

    #[error(
        "service {service:?} has a policy already; import with replacement, or leave it. \
         Namespaces and policies before it are imported: {imported}"
    )]
    PolicyPresent { service: String, imported: u64 },
}
