//! Servers and executors for experiments.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use plimsoll_client::{BoxError, Executor, Shard, Shards};
use plimsoll_placement::time::Time;
use plimsoll_server::clock::Clock;
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

/// A server in this process, on free ports, with a store that is gone after.
pub(crate) struct Laboratory {
    pub(crate) server: Server,
    _data: TempDir,
}

/// What a shard did when, by the server's clock.
#[derive(Clone, Debug)]
pub(crate) struct Began {
    pub(crate) shard: String,
    pub(crate) generation: u64,
    pub(crate) at: Time,
}

/// Shards that run at once and say so.
pub(crate) struct Reporting {
    pub(crate) clock: Clock,
    pub(crate) began: tokio::sync::mpsc::UnboundedSender<Began>,
}

impl Shards for Reporting {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        let (key, generation) = (shard.key().to_owned(), shard.generation());
        // Nobody may be listening.
        drop(self.began.send(Began { shard: key, generation, at: self.clock.now() }));
        Ok(())
    }

    async fn stop(&self, _shard: Shard) {}

    fn load(&self, _shard: &str) -> Option<f64> {
        Some(1.0)
    }
}

impl Laboratory {
    pub(crate) async fn start(store: StoreKind) -> Result<Self> {
        let data = tempfile::tempdir().context("cannot make a folder for the store")?;
        let server = Server::start(&config(store, data.path())).await?;
        Ok(Self { server, _data: data })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.grpc)
    }

    pub(crate) async fn create(
        &self,
        request: v1::CreateNamespaceRequest,
    ) -> Result<Arc<NamespaceHandle>> {
        let name = request.name.clone();
        admin(&self.url())?.create_namespace(request).await?;
        self.server.namespaces.get(&name).context("the namespace is not there")
    }
}

fn config(store: StoreKind, data: &Path) -> Config {
    let mut config = Config { store, data_dir: data.to_owned(), ..Config::default() };
    config.grpc.listen = "127.0.0.1:0".to_owned();
    config.http.listen = "127.0.0.1:0".to_owned();
    config
}

pub(crate) fn admin(url: &str) -> Result<AdminServiceClient<Channel>> {
    Ok(AdminServiceClient::new(channel(url)?)
        .max_encoding_message_size(plimsoll_wire::MAX_MESSAGE_BYTES))
}

/// A connection with windows that do not throttle.
pub(crate) fn channel(url: &str) -> Result<Channel> {
    Ok(Endpoint::from_shared(url.to_owned())?
        .tcp_nodelay(true)
        .initial_connection_window_size(16 * 1024 * 1024)
        .initial_stream_window_size(1024 * 1024)
        .connect_lazy())
}

/// A fixed namespace whose shards belong to these executors in turn.
pub(crate) fn fixed(name: &str, shards: u64, owners: &[String]) -> v1::CreateNamespaceRequest {
    let grants = (0..shards).filter_map(|shard| {
        let executor_id = owners.get((shard % owners.len().max(1) as u64) as usize)?.clone();
        Some(v1::InitialGrant { shard_key: shard.to_string(), executor_id })
    });
    v1::CreateNamespaceRequest {
        name: name.to_owned(),
        r#type: "fixed".to_owned(),
        shard_num: shards,
        initial_grants: grants.collect(),
        ..Default::default()
    }
}

pub(crate) fn ids(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("host-{n}")).collect()
}

/// Starts an executor that reports what it begins.
pub(crate) async fn executor(
    url: &str,
    namespace: &str,
    id: &str,
    reporting: Reporting,
) -> Result<Executor> {
    let builder = Executor::builder(namespace, reporting).connect(url).id(id).host(id);
    builder.start().await.with_context(|| format!("executor {id} did not start"))
}
