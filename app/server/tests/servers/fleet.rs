//! Servers in this process, and what a test asks of any of them.

use std::future::Future;
use std::time::{Duration, Instant};

use plimsoll_server::config::{Etcd as EtcdKeys, Namespace, StoreKind};
use plimsoll_server::{Config, Server};
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::sharddistributor::shard_distributor_executor_api_client::ShardDistributorExecutorApiClient;
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use plimsoll_wire::v1::peer_service_client::PeerServiceClient;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use tonic::transport::{Channel, Endpoint};

use super::etcd::Etcd;

/// Long enough for anything that does not wait for a lease.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// A server's configuration: free ports, this etcd, these namespaces.
pub(crate) fn config(etcd: &Etcd, namespaces: &[Namespace]) -> Config {
    let keys = EtcdKeys { urls: etcd.url(), ..EtcdKeys::default() };
    let mut config = Config { store: StoreKind::Etcd, etcd: keys, ..Config::default() };
    config.grpc.listen = "127.0.0.1:0".to_owned();
    config.http.listen = "127.0.0.1:0".to_owned();
    config.namespaces = namespaces.to_vec();
    config
}

/// A namespace with leases that end soon.
pub(crate) fn namespace(name: &str, shards: u64) -> Namespace {
    let kind = if shards == 0 { "ephemeral" } else { "fixed" };
    let settings = [
        ("lease", "3s"),
        ("heartbeat_ttl", "3s"),
        ("beat", "300ms"),
        ("period", "200ms"),
        ("rebalance_cooldown", "50ms"),
    ];
    let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value.into()));
    Namespace { name: name.to_owned(), kind: kind.to_owned(), shards, settings: settings.collect() }
}

pub(crate) async fn start(config: &Config) -> Server {
    Server::start(config).await.unwrap()
}

/// Starts them one after the other.
pub(crate) async fn start_all(etcd: &Etcd, count: usize, namespaces: &[Namespace]) -> Vec<Server> {
    let mut servers = Vec::new();
    for _ in 0..count {
        servers.push(start(&config(etcd, namespaces)).await);
    }
    servers
}

pub(crate) fn channel(address: impl std::fmt::Display) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy()
}

pub(crate) fn admin(address: impl std::fmt::Display) -> AdminServiceClient<Channel> {
    AdminServiceClient::new(channel(address))
}

pub(crate) fn routing(address: impl std::fmt::Display) -> RoutingServiceClient<Channel> {
    RoutingServiceClient::new(channel(address))
}

pub(crate) fn peer(address: impl std::fmt::Display) -> PeerServiceClient<Channel> {
    PeerServiceClient::new(channel(address))
}

pub(crate) fn go(address: impl std::fmt::Display) -> ShardDistributorApiClient<Channel> {
    ShardDistributorApiClient::new(channel(address))
}

pub(crate) fn go_executor(
    address: impl std::fmt::Display,
) -> ShardDistributorExecutorApiClient<Channel> {
    ShardDistributorExecutorApiClient::new(channel(address))
}

/// Who leads the namespace, as this server says; waits until somebody does.
pub(crate) async fn leader(address: impl std::fmt::Display + Copy, name: &str) -> String {
    eventually(SOON, "somebody leads", || async {
        let request = v1::DescribeNamespaceRequest { name: name.to_owned() };
        let answer = admin(address).describe_namespace(request).await.ok()?.into_inner();
        Some(answer.leader_address).filter(|leader| !leader.is_empty())
    })
    .await
}

/// Waits until the condition holds and gives what it found.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    within: Duration,
    what: &str,
    mut condition: impl FnMut() -> F,
) -> T {
    let end = Instant::now() + within;
    loop {
        if let Ok(Some(found)) = tokio::time::timeout(within, condition()).await {
            return found;
        }
        assert!(Instant::now() < end, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
