//! How the proxy leaves, in three steps: it takes no more connections and tells
//! every client to go elsewhere; after a deadline it ends what is still in
//! progress, with a status that says so where the protocol has one; and a moment
//! later it closes whatever is left.

use std::time::Duration;

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};
use tokio_util::task::TaskTracker;

/// How long what was ended may take to tell its client.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The steps as others see them, and the tasks to wait for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    begin: CancellationToken,
    cut: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
}

/// How leaving went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drained {
    /// Connections that had requests or streams on them at the deadline.
    pub cut: usize,
}

impl Drain {
    /// The connections and tunnels that leaving waits for.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Ends when no more connections are taken.
    pub(crate) fn begun(&self) -> WaitForCancellationFuture<'_> {
        self.begin.cancelled()
    }

    /// Cancelled when what is in progress has to end.
    pub(crate) fn cut(&self) -> CancellationToken {
        self.cut.clone()
    }

    /// Ends when everything is closed.
    pub(crate) fn aborted(&self) -> WaitForCancellationFuture<'_> {
        self.abort.cancelled()
    }

    /// Goes through the steps. `hurry` stands for the deadline if it ends before.
    pub(crate) async fn run(&self, deadline: Duration, hurry: impl Future<Output = ()>) -> Drained {
        self.begin.cancel();
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => return Drained { cut: 0 },
            () = tokio::time::sleep(deadline) => {}
            () = hurry => {}
        }
        let drained = Drained { cut: self.tasks.len() };
        self.cut.cancel();
        if tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await.is_err() {
            self.abort.cancel();
            self.tasks.wait().await;
        }
        drained
    }
}
