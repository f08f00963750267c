//! A server, a namespace and its executors.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use plimsoll_client::Executor;
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use super::oracle::Oracle;
use super::{Loads, Options, executor};

/// Everything that runs.
pub(super) struct Cluster {
    pub(super) namespace: String,
    pub(super) oracle: Arc<Oracle>,
    server: Server,
    executors: Vec<Executor>,
    admin: AdminServiceClient<Channel>,
    _data: TempDir,
}

impl Cluster {
    /// Starts everything, with balance frozen.
    pub(super) async fn start(options: &Options, snapshot: &Snapshot) -> Result<Self> {
        let data = tempfile::tempdir().context("cannot make a folder for the store")?;
        let mut config = Config { data_dir: data.path().to_owned(), ..Config::default() };
        config.grpc.listen.clone_from(&options.grpc);
        config.http.listen.clone_from(&options.http);
        let server = Server::start(&config).await?;
        let url = format!("http://{}", server.grpc);
        let channel = Endpoint::from_shared(url.clone())?.connect_lazy();
        let mut admin = AdminServiceClient::new(channel);
        admin.create_namespace(new_namespace(&options.namespace, snapshot)).await?;
        let oracle = Arc::new(Oracle::default());
        let executors = start_executors(&url, options, snapshot, &oracle).await?;
        let namespace = options.namespace.clone();
        Ok(Self { namespace, oracle, server, executors, admin, _data: data })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.grpc)
    }

    pub(super) fn admin(&self) -> AdminServiceClient<Channel> {
        self.admin.clone()
    }

    /// Where to look on.
    pub(super) fn addresses(&self) -> String {
        let (grpc, http, namespace) = (self.server.grpc, self.server.http, &self.namespace);
        format!("http://{http}   gRPC {grpc}   smctl --address {grpc} --namespace {namespace} top")
    }

    pub(super) async fn resume_balance(&self) -> Result<()> {
        let namespace = self.namespace.clone();
        self.admin().resume_balance(v1::ResumeBalanceRequest { namespace }).await?;
        Ok(())
    }

    /// Ends everything at once: with nobody left there is nothing to hand over.
    pub(super) async fn stop(self) {
        drop(self.executors);
        self.server.stop().await;
    }
}

fn new_namespace(name: &str, snapshot: &Snapshot) -> v1::CreateNamespaceRequest {
    let grants = snapshot.shards.iter().map(|shard| v1::InitialGrant {
        shard_key: shard.key.clone(),
        executor_id: executor_id(&shard.host),
    });
    let shard_num = fixed_size(snapshot);
    v1::CreateNamespaceRequest {
        name: name.to_owned(),
        r#type: if shard_num > 0 { "fixed" } else { "ephemeral" }.to_owned(),
        shard_num,
        initial_grants: grants.collect(),
        frozen: true,
        ..Default::default()
    }
}

/// The number of shards if their keys are "0" to "n - 1"; else 0.
fn fixed_size(snapshot: &Snapshot) -> u64 {
    let count = snapshot.shards.len() as u64;
    let fits = |key: &String| key.parse().is_ok_and(|n: u64| n < count && n.to_string() == *key);
    if snapshot.shards.iter().all(|shard| fits(&shard.key)) { count } else { 0 }
}

async fn start_executors(
    url: &str,
    options: &Options,
    snapshot: &Snapshot,
    oracle: &Arc<Oracle>,
) -> Result<Vec<Executor>> {
    let loads = snapshot.shards.iter().map(|shard| (shard.key.clone(), shard.load));
    let loads: Loads = Arc::new(loads.collect());
    let ids: Vec<_> = snapshot.hosts.iter().map(|host| executor_id(host)).collect();
    let start = |id| executor::start(url, &options.namespace, id, loads.clone(), oracle.clone());
    try_join_all(ids.iter().map(|id| start(id))).await
}

fn executor_id(host: &str) -> String {
    if host.bytes().all(|b| b.is_ascii_digit()) { format!("host-{host}") } else { host.to_owned() }
}
