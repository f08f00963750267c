//! Tells of changes within one process: whoever is slow misses what is between, and
//! never the last.

use std::collections::BTreeMap;

use futures::stream::{BoxStream, StreamExt};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

use crate::NewestPolicies;

/// The newest policies, and who wants to hear of them.
#[derive(Debug)]
pub(crate) struct LocalWatch {
    newest: watch::Sender<NewestPolicies>,
}

impl Default for LocalWatch {
    fn default() -> Self {
        Self { newest: watch::Sender::new(NewestPolicies::new(BTreeMap::new())) }
    }
}

impl LocalWatch {
    /// This is what there is now.
    pub(crate) fn tell(&self, newest: NewestPolicies) {
        self.newest.send_if_modified(|told| {
            let is_news = *told != newest;
            *told = newest;
            is_news
        });
    }

    /// Ends with this.
    pub(crate) fn stream(&self) -> BoxStream<'static, NewestPolicies> {
        WatchStream::new(self.newest.subscribe()).boxed()
    }
}
