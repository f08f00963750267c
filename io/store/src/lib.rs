//! What must outlive a server: namespaces, who owns which shard, drains, a
//! checkpoint of smoothed loads, and the policies of services.
//!
//! One narrow contract, [`Store`] with [`Policies`], and its implementations: [`MemoryStore`] for
//! trials and tests, [`FileStore`] for a single server, [`EtcdStore`] for several. All of them pass the same
//! suite, `conformance` (a feature). The crate decides nothing: it keeps what the
//! leader of a namespace hands it, and refuses whoever is not the leader any more.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod etcd;
mod file;
mod json;
mod load_chunks;
mod local_watch;
mod memory;
mod policies;
mod store;
mod transfer;

pub use error::Error;
pub use etcd::{Change, Elections, EtcdError, EtcdOptions, EtcdStore, EtcdTls, Leader, Observed};
pub use file::{FileStore, Options};
pub use memory::MemoryStore;
pub use plimsoll_ownership::record;
pub use policies::{
    KEPT_REVISIONS, MAX_POLICY_BYTES, NewestPolicies, Policies, PolicyHead, PolicyRecord,
};
pub use store::{Answer, Epoch, Store};
pub use transfer::{Present, TransferError, Transferred, export, import};
