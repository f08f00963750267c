//! Servers in this process, and what a test asks of any of them.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use plimsoll_server::config::{Etcd as EtcdKeys, Namespace, StoreKind};
use plimsoll_server::{Config, Server};
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::sharddistributor::shard_distributor_executor_api_client::ShardDistributorExecutorApiClient;
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use plimsoll_wire::v1::peer_service_client::PeerServiceClient;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
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

/// The body of a page, or else the whole answer.
pub(crate) async fn http_get(address: SocketAddr, path: &str) -> Result<String, String> {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nhost: plimsoll.test\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if head.contains(" 200 ") { Ok(body.to_owned()) } else { Err(answer) }
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

/// Waits until three cycles in a row have changed nothing of what is looked at. The
/// first of them may have been under way: two began after it.
pub(crate) async fn balanced<T: PartialEq>(http: &[SocketAddr], name: &str, look: impl Fn() -> T) {
    for _ in 0..20 {
        let (before, begun) = (look(), cycles(http, name).await);
        let three_more = || async { (cycles(http, name).await >= begun + 3).then_some(()) };
        eventually(SOON, "the planner looks again", three_more).await;
        if look() == before {
            return;
        }
    }
    panic!("{name} is moved about without end");
}

/// How often these servers have looked for imbalance.
async fn cycles(http: &[SocketAddr], name: &str) -> u64 {
    let counter = format!("shard_distributor_shard_assign_attempt_total{{namespace=\"{name}\"}} ");
    let mut all = 0;
    for server in http {
        let text = http_get(*server, "/metrics").await.unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix(&counter)?.parse::<u64>().ok());
        all += count.unwrap_or(0);
    }
    all
}

/// Looks again and again for a time: what must not change while it is tempted to.
pub(crate) async fn stays<T: PartialEq + std::fmt::Debug>(
    span: Duration,
    what: &str,
    look: impl Fn() -> T,
) {
    let (first, begun) = (look(), Instant::now());
    while begun.elapsed() < span {
        assert_eq!(look(), first, "after {:?}: {what}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
