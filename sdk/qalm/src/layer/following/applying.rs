//! What comes is put in force, or refused with what is wrong.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use plimsoll_wire::v1::{PolicyApplied, PolicyRevision};
use tokio::sync::watch;

use super::is_files;
use super::keeping::ToKeep;
use crate::layer::protection::Protection;
use crate::layer::source::InForce;
use crate::policy_file::{Loaded, PolicyFile};
use crate::policy_server::{Origin, Status};

#[derive(Debug)]
pub(super) struct Applier {
    pub(super) protection: Weak<Protection>,
    pub(super) status: watch::Sender<Status>,
    pub(super) to_keep: watch::Sender<Option<Arc<ToKeep>>>,
}

impl Applier {
    /// Puts the server's policy in force, whatever its number: a server whose store
    /// was made anew counts from 1 again.
    pub(super) fn apply(&self, pushed: PolicyRevision) -> PolicyApplied {
        let revision = pushed.revision;
        let refused = match self.read(&pushed) {
            Ok(policy) => {
                self.accept(policy, pushed);
                String::new()
            }
            Err(reason) => {
                self.refuse(revision, &reason);
                reason
            }
        };
        PolicyApplied { revision, refused }
    }

    /// # Errors
    /// Why it cannot hold, with the line.
    fn read(&self, pushed: &PolicyRevision) -> Result<Loaded, String> {
        let PolicyRevision { service, revision, text, .. } = pushed;
        let own = self.status.borrow().service.clone();
        if *service != own {
            return Err(format!("it is that of the service {service:?}, and this is {own:?}"));
        }
        let origin = PathBuf::from(format!("{service}@{revision}"));
        Loaded::edit(&origin, text).map_err(|error| error.to_string())
    }

    fn accept(&self, policy: Loaded, pushed: PolicyRevision) {
        let PolicyRevision { service, revision, text, author, comment, .. } = pushed;
        let version = policy.version.clone();
        let policy = Arc::new(policy);
        self.adopt(&policy);
        self.status.send_modify(|it| it.accept(&policy, Origin::Server, revision));
        self.to_keep.send_replace(Some(Arc::new(ToKeep { revision, text })));
        tracing::info!(service, revision, version, author, comment, "policy applied");
    }

    fn refuse(&self, revision: u64, reason: &str) {
        tracing::error!(revision, reason, "policy refused: the last good policy stays");
        self.status.send_modify(|it| it.refuse(revision, reason.to_owned()));
    }

    /// From here on requests meet this policy.
    fn adopt(&self, policy: &Arc<Loaded>) {
        if let Some(protection) = self.protection.upgrade() {
            protection.registry.adopt(&InForce::Loaded(Arc::clone(policy)));
        }
    }

    /// An edit of the policy file holds as long as the server has sent nothing.
    pub(super) fn look_at(&self, file: &PolicyFile) {
        let (of_file, mine) = (file.status(), self.status.borrow().clone());
        if let Some(trouble) = of_file.trouble.filter(|_| is_files(mine.origin)) {
            self.status.send_modify(|it| it.refuse(0, trouble.error.to_string()));
            return;
        }
        if of_file.version == mine.version {
            // It is again what holds: whatever was wrong with it is put right.
            self.status.send_if_modified(|it| it.refused.take_if(|it| it.revision == 0).is_some());
            return;
        }
        if !is_files(mine.origin) {
            let revision = mine.revision;
            tracing::info!(revision, "the policy file does not hold: the server's policy does");
            return;
        }
        let policy = file.current();
        self.adopt(&policy);
        self.status.send_modify(|it| it.accept(&policy, Origin::File, 0));
    }
}
