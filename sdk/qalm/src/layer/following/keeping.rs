//! The server's newest policy is put on disk, beside everything else: a disk that
//! hangs holds up no policy.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::policy_server::{Kept, Status};

/// How long until a disk that was full or not there is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// A policy in force.
#[derive(Debug)]
pub(super) struct ToKeep {
    pub(super) revision: u64,
    pub(super) text: String,
}

/// Keeps the newest, for ever.
pub(super) async fn keep(
    kept: &Kept,
    mut newest: watch::Receiver<Option<Arc<ToKeep>>>,
    status: &watch::Sender<Status>,
) {
    loop {
        let policy = newest.borrow_and_update().clone();
        let is_done = match policy {
            Some(policy) => write(kept, &policy, status).await,
            None => true,
        };
        let patience = if is_done { Duration::MAX } else { AGAIN_AFTER };
        if let Ok(Err(_)) = timeout(patience, newest.changed()).await {
            // Whoever applies policies is gone, and this goes with it.
            return std::future::pending().await;
        }
    }
}

/// True if it is on the disk.
async fn write(kept: &Kept, policy: &Arc<ToKeep>, status: &watch::Sender<Status>) -> bool {
    let revision = policy.revision;
    let (disk, it) = (kept.clone(), Arc::clone(policy));
    let writing = tokio::task::spawn_blocking(move || disk.write(it.revision, &it.text));
    let error = match writing.await {
        Ok(Ok(())) => {
            status.send_if_modified(|it| {
                let is_its = it.revision == revision;
                if is_its {
                    it.is_kept = Some(true);
                }
                is_its
            });
            return true;
        }
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let path = kept.path().display();
    tracing::error!(%path, revision, error, "the policy is in force but cannot be kept: check the path and who may write it");
    false
}
