//! A server in this process, on ports of its own.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use plimsoll_client::Spectator;
use plimsoll_server::config::StoreKind;
use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use plimsoll_wire::v1::executor_service_client::ExecutorServiceClient;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

use crate::go::GoClient;
use crate::{Fixture, SOON, eventually};

/// A server with the file store in a folder that goes with it.
#[derive(Debug)]
pub struct Cluster {
    config: Config,
    server: Option<Server>,
    grpc: SocketAddr,
    http: SocketAddr,
    _data: TempDir,
}

impl Cluster {
    /// Starts a server with these namespaces.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start(namespaces: impl IntoIterator<Item = Fixture>) -> Result<Self> {
        Self::start_with(StoreKind::File, namespaces).await
    }

    /// The same with a store that forgets.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start_in_memory(namespaces: impl IntoIterator<Item = Fixture>) -> Result<Self> {
        Self::start_with(StoreKind::Memory, namespaces).await
    }

    async fn start_with(
        store: StoreKind,
        namespaces: impl IntoIterator<Item = Fixture>,
    ) -> Result<Self> {
        let data = tempfile::tempdir().context("cannot make a folder for the store")?;
        let mut config = Config { store, data_dir: data.path().join("store"), ..Config::default() };
        let namespaces: Vec<_> = namespaces.into_iter().map(Fixture::into_config).collect();
        config.grpc.listen = "127.0.0.1:0".to_owned();
        config.http.listen = "127.0.0.1:0".to_owned();
        let server = match store {
            // Made at run time they are known to be new. Those of a configuration
            // may be known to executors, if the store has lost them.
            StoreKind::File => {
                let server = Server::start(&config).await?;
                for namespace in &namespaces {
                    server.namespaces.create(namespace.into()).await?;
                }
                config.namespaces = namespaces;
                server
            }
            StoreKind::Memory | StoreKind::Etcd => {
                config.namespaces = namespaces;
                Server::start(&config).await?
            }
        };
        let (grpc, http) = (server.grpc, server.http);
        // From now on it keeps its ports, over restarts too.
        config.grpc.listen = grpc.to_string();
        config.http.listen = http.to_string();
        Ok(Self { config, server: Some(server), grpc, http, _data: data })
    }

    /// Stops the server in good order; clients find nobody.
    pub async fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Starts it again on the same ports with what it has stored.
    pub async fn resume(&mut self) {
        let config = self.config.clone();
        let server = eventually(SOON, "the server starts again", || async {
            Server::start(&config).await.ok()
        });
        self.server = Some(server.await);
    }

    /// What the SDK connects to.
    pub fn url(&self) -> String {
        format!("http://{}", self.grpc)
    }

    /// The gRPC port.
    pub fn grpc(&self) -> SocketAddr {
        self.grpc
    }

    /// The HTTP port.
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// A connection of its own.
    pub fn channel(&self) -> Channel {
        channel(self.grpc)
    }

    /// An operator.
    pub fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel())
    }

    /// A watcher of our own wire.
    pub fn routing(&self) -> RoutingServiceClient<Channel> {
        RoutingServiceClient::new(self.channel())
    }

    /// An executor of our own wire, by hand.
    pub fn executors(&self) -> ExecutorServiceClient<Channel> {
        ExecutorServiceClient::new(self.channel())
    }

    /// A Go client.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn go(&self) -> Result<GoClient> {
        GoClient::connect(self.grpc).await
    }

    /// An SDK spectator.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn spectator(&self, namespace: &str) -> Result<Spectator> {
        Ok(Spectator::connect(&self.url(), namespace).await?)
    }

    /// What the server says of a namespace.
    ///
    /// # Errors
    /// It does not say.
    pub async fn describe(&self, namespace: &str) -> Result<v1::DescribeNamespaceResponse> {
        let request = v1::DescribeNamespaceRequest { name: namespace.to_owned() };
        Ok(self.admin().describe_namespace(request).await?.into_inner())
    }

    /// Every drain of a namespace.
    ///
    /// # Errors
    /// It does not say.
    pub async fn drains(&self, namespace: &str) -> Result<v1::ListDrainsResponse> {
        let request = v1::ListDrainsRequest { namespace: namespace.to_owned() };
        Ok(self.admin().list_drains(request).await?.into_inner())
    }

    /// The last thousand events of a namespace, newest first.
    ///
    /// # Errors
    /// It does not say.
    pub async fn history(&self, namespace: &str) -> Result<Vec<v1::Event>> {
        let namespace = namespace.to_owned();
        let request = v1::HistoryRequest { namespace, limit: 1000, ..Default::default() };
        Ok(self.admin().history(request).await?.into_inner().events)
    }
}

/// A connection that is made when it is used.
pub(crate) fn channel(address: SocketAddr) -> Channel {
    // An address always makes a URL.
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    endpoint.unwrap_or_else(|_| Endpoint::from_static("http://127.0.0.1")).connect_lazy()
}
