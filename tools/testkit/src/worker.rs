//! An SDK executor whose application runs nothing, tells the oracle, and does
//! what a test wants it to do wrong.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_client::{BoxError, Executor, ExecutorBuilder, Shard, Shards};
use tokio::sync::watch;

use crate::Oracle;

type Load = dyn Fn(&str) -> Option<f64> + Send + Sync;
type Seen = dyn Fn(&Shard) + Send + Sync;

/// An executor to be started.
#[derive(Clone)]
pub struct Worker {
    id: String,
    host: String,
    oracle: Arc<Oracle>,
    load: Arc<Load>,
    on_start: Arc<Seen>,
    start: Gate,
    stop: Gate,
}

/// What waits at it goes on when it is open.
#[derive(Clone, Debug)]
pub struct Gate(watch::Sender<bool>);

struct Application {
    worker: Worker,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self(watch::Sender::new(true))
    }
}

impl Gate {
    /// A gate that is shut.
    pub fn shut() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn pass(&self) {
        // The sender is here: it is not gone.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

impl Worker {
    /// A worker whose host is called as it is.
    pub fn new(id: &str, oracle: &Arc<Oracle>) -> Self {
        Self {
            id: id.to_owned(),
            host: id.to_owned(),
            oracle: oracle.clone(),
            load: Arc::new(|_| Some(1.0)),
            on_start: Arc::new(|_| ()),
            start: Gate::default(),
            stop: Gate::default(),
        }
    }

    /// On another host.
    #[must_use]
    pub fn host(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// With these loads.
    #[must_use]
    pub fn load(self, load: impl Fn(&str) -> Option<f64> + Send + Sync + 'static) -> Self {
        Self { load: Arc::new(load), ..self }
    }

    /// Calls this when a shard is to start.
    #[must_use]
    pub fn on_start(self, seen: impl Fn(&Shard) + Send + Sync + 'static) -> Self {
        Self { on_start: Arc::new(seen), ..self }
    }

    /// Starts wait at this gate.
    #[must_use]
    pub fn start_gate(self, gate: &Gate) -> Self {
        Self { start: gate.clone(), ..self }
    }

    /// Stops wait at this gate.
    #[must_use]
    pub fn stop_gate(self, gate: &Gate) -> Self {
        Self { stop: gate.clone(), ..self }
    }

    /// Starts the executor.
    ///
    /// # Errors
    /// As [`ExecutorBuilder::start`].
    pub async fn run(self, url: &str, namespace: &str) -> Result<Executor> {
        Ok(self.builder(url, namespace).start().await?)
    }

    fn builder(self, url: &str, namespace: &str) -> ExecutorBuilder<impl Shards> {
        let (id, host) = (self.id.clone(), self.host.clone());
        Executor::builder(namespace, Application { worker: self })
            .connect(url)
            .address(format!("http://{id}.test"))
            .id(id)
            .host(host)
            .leave_within(Duration::from_secs(5))
            .goodbye_within(Duration::from_secs(5))
    }
}

impl Shards for Application {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        let worker = &self.worker;
        worker.oracle.started(&worker.id, shard.key(), shard.generation());
        (worker.on_start)(&shard);
        worker.start.pass().await;
        Ok(())
    }

    async fn stop(&self, shard: Shard) {
        let worker = &self.worker;
        worker.stop.pass().await;
        worker.oracle.stopped(&worker.id, shard.key());
    }

    fn load(&self, shard: &str) -> Option<f64> {
        (self.worker.load)(shard)
    }
}
