//! The layer and the server of its policy: what comes is adopted before a request
//! asks for it, what was counted is told. In a thread with a runtime of its own:
//! handlers that keep every other busy do not keep a policy from holding.

mod applying;
mod contact;
mod keeping;
mod observation;
mod observer;

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Weak};
use std::thread;

use tokio::sync::{oneshot, watch};

use super::protection::Protection;
use crate::jitter::Jitter;
use crate::policy_file::{Loaded, PolicyFile};
use crate::policy_server::{Dialer, Kept, Origin, PolicyServer, PolicyServerError, Start, Status};
use applying::Applier;
use contact::{Contact, Introduction};

/// A server that is followed until this is dropped.
#[derive(Debug)]
pub(super) struct Following {
    start: Arc<Loaded>,
    status: watch::Receiver<Status>,
    _life: oneshot::Sender<Infallible>,
}

/// What is to be followed, before anybody does.
#[derive(Debug)]
pub(super) struct Follower {
    dialer: Dialer,
    introduction: Introduction,
    file: Option<PolicyFile>,
    kept: Option<Kept>,
    status: watch::Sender<Status>,
    end_of_life: oneshot::Receiver<Infallible>,
}

impl Following {
    /// # Errors
    /// Addresses that are none, a policy file that makes no sense.
    pub(super) fn open(server: PolicyServer) -> Result<(Self, Follower), PolicyServerError> {
        let dialer = server.dialer()?;
        let start = server.start()?;
        let (status, seen) = watch::channel(Status::new(&server.service, &start));
        let (life, end_of_life) = oneshot::channel();
        let Start { policy, file, kept, origin, revision } = start;
        let PolicyServer { service, instance, version, .. } = server;
        tracing::info!(service, ?origin, revision, version = policy.version, "policy loaded");
        let introduction = Introduction { service, instance, version };
        let follower = Follower { dialer, introduction, file, kept, status, end_of_life };
        Ok((Self { start: policy, status: seen, _life: life }, follower))
    }

    /// What holds until something else is adopted.
    pub(super) fn start(&self) -> Arc<Loaded> {
        Arc::clone(&self.start)
    }

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Status> {
        let mut told = self.status.clone();
        told.mark_unchanged();
        told
    }
}

impl Follower {
    /// Follows on behalf of this layer, as long as it lives.
    pub(super) fn start(self, protection: &Arc<Protection>) {
        let protection = Arc::downgrade(protection);
        let run = move || self.run(protection);
        if let Err(error) = thread::Builder::new().name("qalm-sync".to_owned()).spawn(run) {
            tracing::error!(%error, "no thread for the policy server: its policy is not followed");
        }
    }

    fn run(self, protection: Weak<Protection>) {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(self.follow(protection)),
            Err(error) => {
                tracing::error!(%error, "no runtime for the policy server: its policy is not followed");
            }
        }
    }

    async fn follow(self, protection: Weak<Protection>) {
        let (to_keep, newest) = watch::channel(None);
        let applier =
            Applier { protection: protection.clone(), status: self.status.clone(), to_keep };
        let contact = Contact {
            applier: &applier,
            protection,
            introduction: self.introduction,
            jitter: Jitter::default(),
        };
        tokio::select! {
            _ = self.end_of_life => {}
            () = contact.keep(self.dialer) => {}
            () = follow_file(self.file.as_ref(), &applier) => {}
            () = keep(self.kept, newest, &self.status) => {}
        }
    }
}

async fn follow_file(file: Option<&PolicyFile>, applier: &Applier) {
    let Some(file) = file else { return pending().await };
    let mut told = file.subscribe();
    // It may have been edited while the thread started.
    applier.look_at(file);
    while told.changed().await.is_ok() {
        applier.look_at(file);
    }
    pending().await
}

async fn keep(
    kept: Option<Kept>,
    newest: watch::Receiver<Option<Arc<keeping::ToKeep>>>,
    status: &watch::Sender<Status>,
) {
    match kept {
        Some(kept) => keeping::keep(&kept, newest, status).await,
        None => pending().await,
    }
}

/// Of the origins that a file's edit takes part in.
fn is_files(origin: Origin) -> bool {
    !origin.is_servers()
}
