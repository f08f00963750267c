//! A namespace that nobody here runs for, for as long as this is kept.

use std::sync::Arc;

use super::Elector;

/// Holds a server back from running for a namespace.
#[derive(Debug)]
pub struct Held {
    elector: Arc<Elector>,
    namespace: Arc<str>,
}

impl Held {
    pub(super) fn new(elector: Arc<Elector>, namespace: Arc<str>) -> Self {
        Self { elector, namespace }
    }

    /// Takes away the key of this server's leadership: the namespace is gone.
    pub async fn resign(&self) {
        let led = self.elector.view().leaders.get(&self.namespace).map(|it| it.epoch);
        let Some(epoch) = led else { return };
        if let Err(error) = self.elector.resign(&self.namespace, epoch).await {
            tracing::warn!(namespace = %self.namespace, %error, "the key of a deleted namespace is left: it is tried again");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.elector.held.lock().remove(&self.namespace);
        self.elector.ended(&self.namespace);
    }
}
