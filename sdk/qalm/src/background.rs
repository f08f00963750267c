//! A task that is started when it is first needed, since a layer is often made
//! before there is a runtime, and again if its runtime is gone.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;

#[derive(Debug, Default)]
pub(crate) struct Background {
    running: Arc<AtomicBool>,
}

/// Says that the task ends, also when its runtime drops it.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Background {
    /// Has the task run. Without a runtime nothing happens.
    pub(crate) fn ensure<F>(&self, task: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if self.running.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        if self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        let running = Running(Arc::clone(&self.running));
        let task = task();
        runtime.spawn(async move {
            task.await;
            drop(running);
        });
    }
}
