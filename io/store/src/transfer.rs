//! All of a store as one stream of text, and back: for backups, and to move from one
//! kind of store to another.
//!
//! A line is one JSON object. The first says that this is an export and of which
//! version; a namespace begins with its record, has a line for each of its records,
//! and ends with how many those were and a hash of them; then the policy of each service
//! with its revisions in the same way; the last line says how many namespaces and
//! policies there were, so that a stream that was cut is found out. Each namespace is as
//! of one instant, and is imported whole or not at all; a policy is imported revision by
//! revision. Who leads is not exported. A store is not a log: what happened is not in
//! here.

mod error;
mod export;
mod import;
mod lines;
mod section;

pub use error::TransferError;
pub use export::export;
pub use import::{Present, import};

/// How much was carried over.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Transferred {
    pub namespaces: u64,
    /// Grants, drains and loads.
    pub records: u64,
    /// Services that have a policy.
    pub policies: u64,
    /// Of all policies.
    pub revisions: u64,
}

/// The newest version that can be read. It changes when an older one could not read the
/// lines any more.
const VERSION: u32 = WITH_POLICIES;
const WITHOUT_POLICIES: u32 = 1;
const WITH_POLICIES: u32 = 2;

/// The oldest version that can say this.
fn version(policies: u64) -> u32 {
    if policies == 0 { WITHOUT_POLICIES } else { WITH_POLICIES }
}
