//! Work that takes a cook and some time: the example's stand-in for a database.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// So many cooks; who finds none waits, in no order of importance.
#[derive(Clone, Debug)]
pub(crate) struct Kitchen {
    cooks: Arc<Semaphore>,
}

impl Kitchen {
    pub(crate) fn new(cooks: u16) -> Self {
        Self { cooks: Arc::new(Semaphore::new(usize::from(cooks.max(1)))) }
    }

    /// Keeps one cook busy.
    pub(crate) async fn work(&self, millis: u64) {
        let _cook = self.cooks.acquire().await;
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}
