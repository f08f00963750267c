//! Where the policy comes from: the server, a file that is followed, or what the
//! code gave.

use std::ops::Deref;
use std::sync::Arc;

use plimsoll_shedding::policy::Table;

#[cfg(feature = "policy-sync")]
use super::following::Following;
#[cfg(feature = "policy-file")]
use crate::policy_file::{Loaded, PolicyFile, Status};
#[cfg(feature = "policy-sync")]
use crate::policy_server;

#[derive(Debug)]
pub(super) enum PolicySource {
    Given(Arc<Table>),
    #[cfg(feature = "policy-file")]
    File(PolicyFile),
    /// Who follows it has it adopted: requests ask for nothing newer.
    #[cfg(feature = "policy-sync")]
    Server(Following),
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
            #[cfg(feature = "policy-sync")]
            Self::Server(following) => InForce::Loaded(following.start()),
        }
    }

    /// How the file and what is in force relate; `None` if there is no file.
    #[cfg(feature = "policy-file")]
    pub(super) fn file_status(&self) -> Option<Status> {
        match self {
            Self::File(file) => Some(file.status()),
            _ => None,
        }
    }

    /// How the service and the server of its policy stand; `None` if there is none.
    #[cfg(feature = "policy-sync")]
    pub(super) fn server_status(&self) -> Option<policy_server::Status> {
        match self {
            Self::Server(following) => Some(following.status()),
            _ => None,
        }
    }

    /// The same from now on.
    #[cfg(feature = "policy-sync")]
    pub(super) fn subscribe(&self) -> Option<tokio::sync::watch::Receiver<policy_server::Status>> {
        match self {
            Self::Server(following) => Some(following.subscribe()),
            _ => None,
        }
    }

    /// The policy in force, if it is another than that one.
    pub(super) fn newer_than(&self, known: &InForce) -> Option<InForce> {
        self.is_asked().then(|| self.current()).filter(|current| !current.is(known))
    }

    /// Requests ask whether there is another.
    fn is_asked(&self) -> bool {
        match self {
            Self::Given(_) => false,
            #[cfg(feature = "policy-file")]
            Self::File(_) => true,
            #[cfg(feature = "policy-sync")]
            Self::Server(_) => false,
        }
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
