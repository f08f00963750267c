//! One executor of the demonstration: runs shards that do nothing but carry
//! their load, and answers pings for them.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use plimsoll_client::{BoxError, Executor, Shard, Shards};
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_executor_canary_api_server::{
    ShardDistributorExecutorCanaryApi, ShardDistributorExecutorCanaryApiServer,
};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::Loads;
use super::oracle::Oracle;

/// Shards that carry the loads of a snapshot.
struct Work {
    loads: Loads,
    oracle: Arc<Oracle>,
}

impl Shards for Work {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        self.oracle.started(shard.key());
        Ok(())
    }

    async fn stop(&self, shard: Shard) {
        self.oracle.stopped(shard.key());
    }

    fn load(&self, shard: &str) -> Option<f64> {
        self.loads.get(shard).copied()
    }
}

/// Answers pings. Pings that come before the executor is made own nothing.
#[derive(Clone, Default)]
struct Pings {
    executor: Arc<OnceLock<Executor>>,
}

#[tonic::async_trait]
impl ShardDistributorExecutorCanaryApi for Pings {
    async fn ping(
        &self,
        request: Request<go::PingRequest>,
    ) -> Result<Response<go::PingResponse>, Status> {
        let shard_key = request.into_inner().shard_key;
        let executor = self.executor.get();
        let owns_shard = executor.is_some_and(|executor| executor.owns(&shard_key).is_some());
        let executor_id = executor.map(|executor| executor.id().to_owned()).unwrap_or_default();
        Ok(Response::new(go::PingResponse { executor_id, owns_shard, shard_key }))
    }
}

/// Starts an executor that serves on a port of its own.
pub(super) async fn start(
    server: &str,
    namespace: &str,
    id: &str,
    loads: Loads,
    oracle: Arc<Oracle>,
) -> Result<Executor> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot open a port")?;
    let address: SocketAddr = listener.local_addr().context("the port has no address")?;
    let pings = Pings::default();
    let service = ShardDistributorExecutorCanaryApiServer::new(pings.clone());
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let executor = Executor::builder(namespace, Work { loads, oracle })
        .connect(server)
        .id(id)
        .host(id)
        .address(format!("http://{address}"))
        .start()
        .await
        .with_context(|| format!("executor {id} did not start"))?;
    // Nobody else sets it.
    let _ = pings.executor.set(executor.clone());
    Ok(executor)
}
