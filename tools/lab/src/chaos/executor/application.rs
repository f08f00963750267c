//! Writes down what it is told to run. Shards that were created are done soon.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use plimsoll_client::{BoxError, Executor, Shard, Shards};
use plimsoll_testkit::chaos::Moment;

use super::super::namespaces::CREATED;
use super::super::record::{Entry, Log};

/// How long the work of a created shard takes.
const WORK: Duration = Duration::from_millis(500);

pub(super) struct Application {
    namespace: String,
    log: Arc<Log>,
    executor: Arc<OnceLock<Executor>>,
}

impl Application {
    pub(super) fn new(namespace: &str, log: Arc<Log>) -> Self {
        Self { namespace: namespace.to_owned(), log, executor: Arc::default() }
    }

    /// To be set to the executor that runs it.
    pub(super) fn executor(&self) -> Arc<OnceLock<Executor>> {
        self.executor.clone()
    }

    fn name(&self, shard: &Shard) -> String {
        format!("{}/{}", self.namespace, shard.key())
    }
}

impl Shards for Application {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        let (name, generation) = (self.name(&shard), shard.generation());
        self.log.append(&Entry::Started { at: Moment::now(), shard: name, generation });
        if self.namespace == CREATED {
            let executor = self.executor.clone();
            tokio::spawn(async move {
                tokio::time::sleep(WORK).await;
                if let Some(executor) = executor.get() {
                    executor.done(shard.key());
                }
            });
        }
        Ok(())
    }

    async fn stop(&self, shard: Shard) {
        let (name, generation) = (self.name(&shard), shard.generation());
        self.log.append(&Entry::Stopped { at: Moment::now(), shard: name, generation });
    }

    fn load(&self, _shard: &str) -> Option<f64> {
        Some(1.0)
    }
}
