//! A server process with executors and spectators in this one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_client::{Executor, Spectator};
use plimsoll_testkit::process::{self, ServerProcess};
use plimsoll_testkit::{Fixture, Oracle, SOON, Worker, eventually, http_get};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};

/// Owner and generation by shard.
pub(crate) type Map = BTreeMap<String, (String, u64)>;

/// Files of one server: its configuration and its data.
pub(crate) struct Files {
    folder: TempDir,
    pub(crate) store: &'static str,
}

impl Files {
    pub(crate) fn new(store: &'static str, namespaces: &[Fixture]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text: Vec<_> = namespaces.iter().map(Fixture::to_toml).collect();
        std::fs::write(folder.path().join("plimsoll.toml"), text.join("\n")).unwrap();
        Self { folder, store }
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.display().to_string()
    }

    pub(crate) fn arguments(&self, grpc: &str, http: &str) -> Vec<String> {
        let (config, data) = (self.path("plimsoll.toml"), self.path("data"));
        let all = ["--config", &config, "--store", self.store, "--data-dir", &data];
        let ports = ["--grpc", grpc, "--http", http];
        all.into_iter().chain(ports).map(str::to_owned).collect()
    }

    pub(crate) async fn start(&self) -> ServerProcess {
        let arguments = self.arguments("127.0.0.1:0", "127.0.0.1:0");
        ServerProcess::start(&texts(&arguments)).await.unwrap()
    }

    /// Every grant that is stored. The server must not run.
    pub(crate) async fn grants(&self) -> Map {
        let data = self.path("data");
        let export = ["store", "export", "--store", self.store, "--data-dir", &data];
        let export = process::run(&export).await.unwrap();
        assert!(export.status.success(), "{export:?}");
        let lines = String::from_utf8(export.stdout).unwrap();
        let grants = lines.lines().filter_map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let grant = line.get("grant")?;
            let text = |name: &str| grant[name].as_str().unwrap().to_owned();
            Some((text("shard"), (text("executor"), grant["generation"].as_u64().unwrap())))
        });
        grants.collect()
    }

    /// On the ports that it had.
    pub(crate) async fn restart(&self, grpc: String, http: String) -> ServerProcess {
        ServerProcess::restart(&texts(&self.arguments(&grpc, &http))).await
    }
}

pub(crate) fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Leases that a kill and a restart fit into, on a busy machine.
pub(crate) fn patient(fixture: Fixture) -> Fixture {
    fixture.lease("4s").set("beat", "200ms")
}

pub(crate) async fn workers(
    server: &ServerProcess,
    namespace: &str,
    count: usize,
    oracle: &Arc<Oracle>,
) -> Vec<Executor> {
    let url = &server.url();
    let start = async |n| Worker::new(&format!("worker-{n}"), oracle).run(url, namespace).await;
    futures::future::try_join_all((0..count).map(start)).await.unwrap()
}

pub(crate) fn admin(url: &str) -> AdminServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
    AdminServiceClient::new(endpoint.connect_lazy())
}

/// Waits until a spectator knows an owner of so many shards.
pub(crate) async fn full(spectator: &Spectator, shards: usize) -> Map {
    eventually(SOON, "every shard has an owner", || async {
        Some(map(spectator, shards)).filter(|map| map.len() == shards)
    })
    .await
}

pub(crate) fn map(spectator: &Spectator, shards: usize) -> Map {
    let keys = (0..shards).map(|n| n.to_string());
    let owner = |key: String| {
        let owner = spectator.try_lookup(&key)?;
        Some((key, (owner.executor_id().to_owned(), owner.generation())))
    };
    keys.filter_map(owner).collect()
}

/// Waits until the server has heard every executor and holds nothing back.
pub(crate) async fn settled(url: &str, namespace: &str, executors: usize) {
    let (admin, namespace) = (admin(url), namespace.to_owned());
    eventually(SOON, "every executor is back and nothing is held", || async {
        let request = v1::DescribeNamespaceRequest { name: namespace.clone() };
        let described = admin.clone().describe_namespace(request).await.ok()?.into_inner();
        let request =
            v1::GetLoadsRequest { namespace: namespace.clone(), ..v1::GetLoadsRequest::default() };
        let loads = admin.clone().get_loads(request).await.ok()?.into_inner();
        let active = loads.executors.iter().filter(|executor| executor.status == "active").count();
        (described.conditions.is_empty() && active == executors).then_some(())
    })
    .await;
}

/// Waits until three cycles in a row have changed nothing of what is looked at. The
/// first of them may have been under way: two began after it.
pub(crate) async fn balanced<T: PartialEq>(http: SocketAddr, name: &str, look: impl Fn() -> T) {
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

/// How often the server has looked for imbalance.
async fn cycles(http: SocketAddr, name: &str) -> u64 {
    let counter = format!("shard_distributor_shard_assign_attempt_total{{namespace=\"{name}\"}} ");
    let text = http_get(http, "/metrics").await.unwrap();
    let count = text.lines().find_map(|line| line.strip_prefix(&counter)?.parse().ok());
    count.unwrap_or(0)
}

/// Every event of these kinds.
pub(crate) async fn events(url: &str, namespace: &str, kinds: &[&str]) -> Vec<v1::Event> {
    let request =
        v1::HistoryRequest { namespace: namespace.to_owned(), limit: 20_000, ..Default::default() };
    let events = admin(url).history(request).await.unwrap().into_inner().events;
    events.into_iter().filter(|event| kinds.contains(&event.kind.as_str())).collect()
}
