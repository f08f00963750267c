//! A model of the Go executor: what it starts and stops on which answer, and
//! what it leaves out of its reports. Its habits are kept, bad ones too: an
//! empty map changes nothing, and no lease ends anything.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_wire::sharddistributor as go;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::task::AbortOnDropHandle;

use super::client::GoClient;
use super::{EXECUTOR_API, Reply};
use crate::Oracle;

/// One Go executor.
#[derive(Debug)]
pub struct GoExecutor {
    pub namespace: String,
    pub id: String,
    pub host: Option<String>,
    pub metadata: HashMap<String, String>,
    /// New shards stay in `Starting`, and out of the reports, while this is set.
    pub slow_start: bool,
    address: SocketAddr,
    client: Option<GoClient>,
    shards: BTreeMap<String, Processor>,
    oracle: Option<Arc<Oracle>>,
}

/// A shard that it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Processor {
    starting: bool,
    done: bool,
    load: f64,
}

/// An executor that beats by itself.
#[derive(Clone, Debug)]
pub struct Beating {
    executor: Arc<Mutex<GoExecutor>>,
    _loop: Arc<AbortOnDropHandle<()>>,
}

impl GoExecutor {
    /// An executor that has not said anything yet.
    pub fn new(address: SocketAddr, namespace: &str, id: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            id: id.to_owned(),
            host: None,
            metadata: HashMap::from([("grpc_address".to_owned(), format!("{id}.test:1"))]),
            slow_start: false,
            address,
            client: None,
            shards: BTreeMap::new(),
            oracle: None,
        }
    }

    /// Tells an oracle what it runs.
    #[must_use]
    pub fn told_to(mut self, oracle: &Arc<Oracle>) -> Self {
        self.oracle = Some(oracle.clone());
        self
    }

    /// What it runs, starting shards too.
    pub fn shards(&self) -> Vec<String> {
        self.shards.keys().cloned().collect()
    }

    /// Sets the load that it reports of a shard.
    pub fn set_load(&mut self, shard: &str, load: f64) {
        if let Some(processor) = self.shards.get_mut(shard) {
            processor.load = load;
        }
    }

    /// The idle loop found the shard unused: the next report says DONE.
    pub fn done(&mut self, shard: &str) {
        if let Some(processor) = self.shards.get_mut(shard) {
            processor.done = true;
        }
    }

    /// Every `Start` that was under way has come to an end.
    pub fn finish_starts(&mut self) {
        for processor in self.shards.values_mut() {
            processor.starting = false;
        }
    }

    /// One ACTIVE heartbeat, applied.
    ///
    /// # Errors
    /// It failed: the Go client logs that and goes on.
    pub async fn beat(&mut self) -> Result<go::HeartbeatResponse> {
        let response = self.send(go::ExecutorStatus::Active).await?;
        self.apply(&response);
        Ok(response)
    }

    /// The raw answer to a heartbeat that is not applied.
    ///
    /// # Errors
    /// The transport broke.
    pub async fn beat_raw(&mut self, request: &go::HeartbeatRequest) -> Result<Reply> {
        let client = self.client().await?;
        client.call(&format!("{EXECUTOR_API}/Heartbeat"), request).await
    }

    /// Stops everything, then says DRAINING once.
    ///
    /// # Errors
    /// The goodbye failed: the Go client gives up too.
    pub async fn stop(&mut self) -> Result<()> {
        for shard in self.shards() {
            self.stop_shard(&shard);
        }
        self.send(go::ExecutorStatus::Draining).await?;
        Ok(())
    }

    /// The process is gone.
    pub fn die(&mut self) {
        if let Some(oracle) = &self.oracle {
            oracle.died(&self.id);
        }
        self.shards.clear();
        self.client = None;
    }

    /// What it would send now.
    pub fn request(&self, status: go::ExecutorStatus) -> go::HeartbeatRequest {
        let started = self.shards.iter().filter(|(_, processor)| !processor.starting);
        let host = self.host.clone();
        go::HeartbeatRequest {
            namespace: self.namespace.clone(),
            executor_id: self.id.clone(),
            status: status.into(),
            shard_status_reports: started.map(|(key, it)| (key.clone(), it.report())).collect(),
            metadata: self.metadata.clone(),
            host_metadata: host.map(|host_name| go::HostMetadata { host_name }),
        }
    }

    /// Beats by itself until it is dropped, whatever the server answers.
    pub fn beating(self, interval: Duration) -> Beating {
        let executor = Arc::new(Mutex::new(self));
        let beats = executor.clone();
        let running = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            loop {
                ticks.tick().await;
                // Logged and ignored, as the Go client does it.
                let _ = beats.lock().await.beat().await;
            }
        });
        Beating { executor, _loop: Arc::new(AbortOnDropHandle::new(running)) }
    }

    async fn send(&mut self, status: go::ExecutorStatus) -> Result<go::HeartbeatResponse> {
        let request = self.request(status);
        let answered = self.beat_raw(&request).await;
        if answered.is_err() {
            self.client = None;
        }
        answered?.decode()
    }

    async fn client(&mut self) -> Result<GoClient> {
        if self.client.is_none() {
            self.client = Some(GoClient::connect(self.address).await?);
        }
        self.client.clone().ok_or_else(|| anyhow::anyhow!("it was connected a moment ago"))
    }

    /// A nil map is no news; else everything that is not READY stops.
    fn apply(&mut self, response: &go::HeartbeatResponse) {
        if response.shard_assignments.is_empty() {
            return;
        }
        let ready = |shard: &String| {
            let assignment = response.shard_assignments.get(shard);
            assignment.is_some_and(|it| it.status() == go::AssignmentStatus::Ready)
        };
        for shard in self.shards().iter().filter(|shard| !ready(shard)) {
            self.stop_shard(shard);
        }
        for shard in response.shard_assignments.keys().filter(|shard| ready(shard)) {
            self.start_shard(shard);
        }
    }

    fn start_shard(&mut self, shard: &str) {
        if self.shards.contains_key(shard) {
            return;
        }
        let processor = Processor { starting: self.slow_start, done: false, load: 1.0 };
        self.shards.insert(shard.to_owned(), processor);
        if let Some(oracle) = &self.oracle {
            oracle.started(&self.id, shard, 0);
        }
    }

    fn stop_shard(&mut self, shard: &str) {
        self.shards.remove(shard);
        if let Some(oracle) = &self.oracle {
            oracle.stopped(&self.id, shard);
        }
    }
}

impl Processor {
    fn report(self) -> go::ShardStatusReport {
        let status = if self.done { go::ShardStatus::Done } else { go::ShardStatus::Ready };
        go::ShardStatusReport { status: status.into(), shard_load: self.load }
    }
}

impl Beating {
    /// The executor between two beats.
    pub async fn executor(&self) -> MutexGuard<'_, GoExecutor> {
        self.executor.lock().await
    }
}
