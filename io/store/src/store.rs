//! The contract of a store.
//!
//! Every change is atomic, durable when its answer arrives, and fenced: it names
//! the epoch of the leadership it was made under and is refused if another leader
//! has been elected since. There is no read of a single shard and no watch here, on
//! purpose: the leader holds its namespace in memory and reads it once, when its
//! leadership begins.

use std::fmt;

use futures::future::BoxFuture;

use crate::record::{NamespaceRecord, Stored, Write};
use crate::{Error, Policies};

/// What a store answers, later.
///
/// The change is handed over when the method is called, not when the answer is
/// first polled; an answer that is dropped does not take its change back.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// One leadership of a namespace. Epochs only grow, also over restarts and over the
/// deletion and re-creation of a namespace.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where the records of namespaces are kept, and beside them the [`Policies`].
///
/// Changes of one namespace take effect in the order of the calls that ask for
/// them. One that fails does not stop those behind it, so whoever has sent several
/// at once and sees one fail must [`lead`](Self::lead) and [`load`](Self::load)
/// again before going on.
///
/// After [`Error::Io`] nobody knows whether the change was kept. Writes say what
/// shall be, not what to add, so the same ones can be committed again.
pub trait Store: Policies + fmt::Debug + Send + Sync + 'static {
    /// Whether what is stored is still there after a restart. If it is not, a server
    /// rebuilds ownership from what executors report.
    fn is_durable(&self) -> bool;

    /// Every namespace, in order of name.
    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRecord>>;

    /// Stores a new namespace with its first records, in one atomic step. Nobody
    /// leads it yet. [`Error::Exists`] if there is one of that name.
    fn create(&self, record: NamespaceRecord, initial: Vec<Write>) -> Answer<'_, ()>;

    /// Removes everything of a namespace but the knowledge of which epochs are
    /// spent. [`Error::NotFound`] if there is none of that name.
    fn delete(&self, namespace: &str) -> Answer<'_, ()>;

    /// Makes the caller the leader of a namespace: the epoch it gets is the only one
    /// whose commits pass from now on. [`Error::NotFound`] as in `delete`.
    fn lead(&self, namespace: &str) -> Answer<'_, Epoch>;

    /// Everything that is stored of a namespace, as of one instant.
    /// [`Error::NotFound`] as in `delete`.
    fn load(&self, namespace: &str) -> Answer<'_, Stored>;

    /// Applies `writes` whole and in order, or not at all. [`Error::Fenced`] unless
    /// `epoch` is the namespace's present one, [`Error::NotFound`] as in `delete`,
    /// [`Error::WrongNamespace`] if a record among them bears another name.
    ///
    /// A generation floor never sinks: a lower one is passed over.
    fn commit(&self, namespace: &str, epoch: Epoch, writes: Vec<Write>) -> Answer<'_, ()>;
}
