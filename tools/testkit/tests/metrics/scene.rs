//! Everything that has metrics, running, and brought to where each has been counted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use plimsoll_client::{Executor, Spectator};
use plimsoll_proxy::{Bound, Proxy, Settings};
use plimsoll_qalm::{PolicyServer, QalmLayer};
use plimsoll_server::metrics::Metrics;
use plimsoll_testkit::{Cluster, Fixture, Oracle, Worker, http_get};
use prometheus_client::registry::Registry;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Barrier;

/// Requests that the service answers together or not at all.
const CROWD: usize = 16;
/// One request at a time and one that waits: of a crowd most would be refused.
const POLICY: &str = "enforcement = \"dry-run\"\n[queue]\nconcurrency = 1\nmax_queue = 1\n";

/// A cluster with clients, and a proxy in front of a service.
pub(crate) struct Scene {
    cluster: Cluster,
    clients: Registry,
    _spectator: Spectator,
    _executor: Executor,
    proxy: Proxy,
    _folder: TempDir,
}

impl Scene {
    /// Starts it, and sends what is to be counted.
    pub(crate) async fn start() -> Result<Self> {
        let cluster = Cluster::start([Fixture::fixed("orders", 4).quick()]).await?;
        let executor = Worker::new("a", &Oracle::new()).run(&cluster.url(), "orders").await?;
        let spectator = cluster.spectator("orders").await?;
        let folder = tempfile::tempdir()?;
        let mut clients = Registry::default();
        executor.register(&mut clients);
        spectator.register(&mut clients);
        following(&folder)?.register(&mut clients);
        // A failure.
        drop(cluster.describe("nowhere").await);
        let proxy = proxy(&folder).await?;
        crowd(proxy.listen).await?;
        let (_spectator, _executor, _folder) = (spectator, executor, folder);
        Ok(Self { cluster, clients, _spectator, _executor, proxy, _folder })
    }

    /// Every page with metrics, as it is now.
    pub(crate) async fn pages(&self) -> Vec<String> {
        let proxy = self.proxy.metrics.unwrap();
        vec![
            http_get(self.cluster.http(), "/metrics").await.unwrap(),
            http_get(proxy, "/metrics").await.unwrap(),
            self.of_clients(),
            of_one_among_several(),
        ]
    }

    fn of_clients(&self) -> String {
        let mut page = String::new();
        prometheus_client::encoding::text::encode(&mut page, &self.clients).unwrap();
        page
    }
}

/// What a server exposes only where there are others, without the etcd that they would
/// need: the names and labels are the same.
fn of_one_among_several() -> String {
    let (metrics, orders) = (Metrics::new(), Arc::from("orders"));
    metrics.leader_changed(&orders);
    metrics.replica_age(&orders, Some(Duration::ZERO));
    metrics.of_namespace(&orders).store_failing(false);
    metrics.text()
}

async fn proxy(folder: &TempDir) -> Result<Proxy> {
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, POLICY)?;
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    let mut settings = Settings::new(any, service().await?.to_string().parse()?);
    settings.metrics = Some(any);
    let layer = QalmLayer::from_file(policy)?;
    Ok(Bound::new(settings).await?.serve_shedding(layer)?)
}

/// A layer whose policy comes from a server, which need not be there.
fn following(folder: &TempDir) -> Result<QalmLayer> {
    let server = PolicyServer::new("http://127.0.0.1:1", "menu").keep(folder.path().join("kept"));
    Ok(QalmLayer::builder().build_from_server(server)?)
}

/// A service that answers when a whole crowd is there.
async fn service() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let crowd = Arc::new(Barrier::new(CROWD));
    let answer = async move || {
        crowd.wait().await;
    };
    let router = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn crowd(address: SocketAddr) -> Result<()> {
    let all = futures::future::try_join_all((0..CROWD).map(|_| http_get(address, "/")));
    tokio::time::timeout(plimsoll_testkit::SOON, all).await.context("nobody was answered")??;
    Ok(())
}
