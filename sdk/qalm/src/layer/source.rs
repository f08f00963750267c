//! Where the policy comes from: a file that is followed, or what the code gave.

use std::ops::Deref;
use std::sync::Arc;

use plimsoll_shedding::policy::Table;

#[cfg(feature = "policy-file")]
use crate::policy_file::{Loaded, PolicyFile, Status};

#[derive(Debug)]
pub(super) enum PolicySource {
    Given(Arc<Table>),
    #[cfg(feature = "policy-file")]
    File(PolicyFile),
}

/// A policy in force. Cloning it copies nothing.
#[derive(Clone, Debug)]
pub(super) enum InForce {
    Given(Arc<Table>),
    #[cfg(feature = "policy-file")]
    Loaded(Arc<Loaded>),
}

impl PolicySource {
    pub(super) fn current(&self) -> InForce {
        match self {
            Self::Given(table) => InForce::Given(Arc::clone(table)),
            #[cfg(feature = "policy-file")]
            Self::File(file) => InForce::Loaded(file.current()),
        }
    }

    /// How the file and what is in force relate; `None` if there is no file.
    #[cfg(feature = "policy-file")]
    pub(super) fn file_status(&self) -> Option<Status> {
        match self {
            Self::Given(_) => None,
            Self::File(file) => Some(file.status()),
        }
    }

    /// The policy in force, if it is another than that one.
    pub(super) fn newer_than(&self, known: &InForce) -> Option<InForce> {
        let follows = !matches!(self, Self::Given(_));
        follows.then(|| self.current()).filter(|current| !current.is(known))
    }
}

impl InForce {
    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::eq::<Table>(&**self, &**other)
    }
}

impl Deref for InForce {
    type Target = Table;

    fn deref(&self) -> &Table {
        match self {
            Self::Given(table) => table,
            #[cfg(feature = "policy-file")]
            Self::Loaded(loaded) => &loaded.table,
        }
    }
}
