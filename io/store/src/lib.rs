//! What must outlive a server: namespaces, who owns which shard, drains, and a
//! checkpoint of smoothed loads.
//!
//! One narrow contract, [`Store`], and its implementations: [`MemoryStore`] for
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
mod memory;
mod store;
mod transfer;

pub use error::Error;
pub use etcd::{Change, Elections, EtcdError, EtcdOptions, EtcdStore, EtcdTls, Leader, Observed};
pub use file::{FileStore, Options};
pub use memory::MemoryStore;
pub use plimsoll_ownership::record;
pub use store::{Answer, Epoch, Store};
pub use transfer::{Present, TransferError, Transferred, export, import};
