//! `RoutingService`: a snapshot, then deltas.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_testkit::session::{Session, hello};
use plimsoll_testkit::{Cluster, Fixture, within};
use plimsoll_wire::v1;
use plimsoll_wire::v1::watch_response::Message;
use tonic::{Code, Streaming};

#[tokio::test]
async fn a_watch_begins_with_a_snapshot_and_goes_on_with_deltas() {
    let cluster = orders().await;
    let mut watch = Watch::open(&cluster, "", 0).await;
    let Message::Snapshot(snapshot) = watch.next().await else { panic!("no snapshot") };
    assert!(snapshot.first && snapshot.last && !snapshot.epoch.is_empty());
    assert!(snapshot.routes.is_empty());
    watch.take(Message::Snapshot(snapshot));
    let mut session = Session::open(cluster.executors(), hello("orders", "a")).await.unwrap();
    session.welcome().await.unwrap();
    watch.until(|watch| watch.routes.len() == 4).await;
    assert!(watch.routes.values().all(|(executor, generation)| executor == "a" && *generation > 0));
    assert_eq!(watch.snapshots, 1);
}

#[tokio::test]
async fn a_watch_that_names_what_it_holds_gets_only_what_came_since() {
    let cluster = orders().await;
    let mut first = Watch::open(&cluster, "", 0).await;
    let mut session = Session::open(cluster.executors(), hello("orders", "a")).await.unwrap();
    session.welcome().await.unwrap();
    first.until(|watch| watch.routes.len() == 4).await;
    let mut drained = Watch::open(&cluster, &first.epoch, first.revision).await;
    drain(&cluster, "2").await;
    first.until(|watch| watch.drained.contains(&"2".to_owned())).await;
    drained.routes = first.routes.clone();
    drained.until(|watch| watch.drained.contains(&"2".to_owned())).await;
    assert_eq!(drained.snapshots, 0);
    assert_eq!(drained.revision, first.revision);

    let mut nothing_new = Watch::open(&cluster, &first.epoch, first.revision).await;
    let Message::KeepAlive(alive) = nothing_new.next().await else { panic!("news?") };
    assert_eq!(alive.revision, first.revision);
}

#[tokio::test]
async fn a_watch_of_another_epoch_or_of_the_future_gets_a_snapshot() {
    let cluster = orders().await;
    let mut first = Watch::open(&cluster, "", 0).await;
    first.until(|watch| watch.snapshots == 1).await;
    for (epoch, revision) in [("of-another-server", first.revision), (&*first.epoch, 1 << 40)] {
        let mut watch = Watch::open(&cluster, epoch, revision).await;
        let message = watch.next().await;
        assert!(matches!(message, Message::Snapshot(_)), "{epoch} {revision}: {message:?}");
    }
}

#[tokio::test]
async fn a_silent_watch_is_kept_alive_at_least_every_ten_seconds() {
    let cluster = orders().await;
    let mut watch = Watch::open(&cluster, "", 0).await;
    watch.until(|watch| watch.snapshots == 1).await;
    let alive = within(Duration::from_secs(10), watch.next()).await;
    assert!(matches!(alive, Message::KeepAlive(_)), "{alive:?}");
}

#[tokio::test]
async fn a_watch_of_an_unknown_namespace_is_not_found() {
    let cluster = orders().await;
    let request = v1::WatchRequest { namespace: "nowhere".into(), ..v1::WatchRequest::default() };
    let status = cluster.routing().watch(request).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[tokio::test]
async fn a_watch_of_a_namespace_that_is_deleted_ends() {
    let cluster = orders().await;
    let mut watch = Watch::open(&cluster, "", 0).await;
    watch.until(|watch| watch.snapshots == 1).await;
    let name = "orders".to_owned();
    cluster.admin().delete_namespace(v1::DeleteNamespaceRequest { name }).await.unwrap();
    let end = async { while let Ok(Some(_)) = watch.stream.message().await {} };
    plimsoll_testkit::soon(end).await;
}

#[tokio::test]
async fn a_large_map_comes_in_parts_of_one_revision() {
    let grants = (0..25_000).map(|n: u32| v1::InitialGrant {
        shard_key: n.to_string(),
        executor_id: format!("e{}", n % 7),
    });
    let cluster = Cluster::start([]).await.unwrap();
    let request = v1::CreateNamespaceRequest {
        name: "orders".into(),
        r#type: "fixed".into(),
        shard_num: 25_000,
        initial_grants: grants.collect(),
        ..v1::CreateNamespaceRequest::default()
    };
    cluster.admin().create_namespace(request).await.unwrap();
    let mut watch = Watch::open(&cluster, "", 0).await;
    let (mut parts, mut routes, mut revision) = (0, 0, None);
    loop {
        let Message::Snapshot(part) = watch.next().await else { panic!("no snapshot") };
        assert_eq!(part.first, parts == 0);
        assert_eq!(*revision.get_or_insert(part.revision), part.revision);
        parts += 1;
        routes += part.routes.len();
        if part.last {
            break;
        }
    }
    assert!(parts > 1, "{parts} parts");
    assert_eq!(routes, 25_000);
}

#[tokio::test]
async fn a_lookup_answers_with_the_generation_and_the_labels() {
    let cluster = orders().await;
    let labelled = v1::Hello {
        metadata: [("grpc_address".to_owned(), "a:1".to_owned())].into(),
        ..hello("orders", "a")
    };
    let mut session = Session::open(cluster.executors(), labelled).await.unwrap();
    session.welcome().await.unwrap();
    let grants = session.grants(4).await.unwrap();
    let zero = grants.iter().find(|grant| grant.shard_key == "0").unwrap();
    let found = cluster.routing().lookup(lookup("0")).await.unwrap().into_inner();
    assert_eq!((found.executor_id.as_str(), found.generation), ("a", zero.generation));
    assert_eq!(found.metadata["grpc_address"], "a:1");
}

#[tokio::test]
async fn lookups_that_fail_say_why_by_their_code() {
    let cluster =
        Cluster::start([Fixture::fixed("orders", 4), Fixture::ephemeral("queues")]).await.unwrap();
    drain(&cluster, "2").await;
    let code = async |namespace: &str, key: &str| {
        let (namespace, shard_key) = (namespace.to_owned(), key.to_owned());
        let request = v1::LookupRequest { namespace, shard_key };
        cluster.routing().lookup(request).await.unwrap_err().code()
    };
    assert_eq!(code("nowhere", "0").await, Code::NotFound);
    assert_eq!(code("orders", "4").await, Code::NotFound);
    assert_eq!(code("orders", "2").await, Code::FailedPrecondition);
    assert_eq!(code("orders", &"x".repeat(1025)).await, Code::InvalidArgument);
    assert_eq!(code("queues", "k").await, Code::Unavailable);
}

/// A watch and the map that a client of it would have.
struct Watch {
    stream: Streaming<v1::WatchResponse>,
    epoch: String,
    revision: u64,
    routes: BTreeMap<String, (String, u64)>,
    drained: Vec<String>,
    snapshots: usize,
}

impl Watch {
    async fn open(cluster: &Cluster, epoch: &str, revision: u64) -> Self {
        let (namespace, epoch) = ("orders".to_owned(), epoch.to_owned());
        let request = v1::WatchRequest { namespace, epoch: epoch.clone(), revision };
        let stream = cluster.routing().watch(request).await.unwrap().into_inner();
        let (routes, drained) = (BTreeMap::new(), Vec::new());
        Self { stream, epoch, revision, routes, drained, snapshots: 0 }
    }

    async fn next(&mut self) -> Message {
        let response = within(Duration::from_secs(15), self.stream.message()).await;
        response.unwrap().unwrap().message.unwrap()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Snapshot(part) => {
                if part.first {
                    self.routes.clear();
                    self.drained.clear();
                    self.snapshots += 1;
                }
                (self.epoch, self.revision) = (part.epoch, part.revision);
                self.add(part.routes);
                self.drained.extend(part.drained_shards);
            }
            Message::Delta(delta) => {
                assert_eq!(delta.from, self.revision, "a gap");
                self.revision = delta.to;
                self.add(delta.routes);
                self.routes.retain(|key, _| !delta.unowned_shards.contains(key));
                self.drained.extend(delta.drained_shards);
                self.drained.retain(|key| !delta.undrained_shards.contains(key));
            }
            Message::KeepAlive(alive) => assert_eq!(alive.revision, self.revision),
        }
    }

    fn add(&mut self, routes: Vec<v1::Route>) {
        let entry = |route: v1::Route| (route.shard_key, (route.executor_id, route.generation));
        self.routes.extend(routes.into_iter().map(entry));
    }

    async fn until(&mut self, fits: impl Fn(&Self) -> bool) {
        while !fits(self) {
            let message = self.next().await;
            self.take(message);
        }
    }
}

async fn orders() -> Cluster {
    Cluster::start([Fixture::fixed("orders", 4).lease("30s")]).await.unwrap()
}

async fn drain(cluster: &Cluster, shard: &str) {
    let (namespace, shard_keys) = ("orders".to_owned(), vec![shard.to_owned()]);
    let request =
        v1::DrainShardsRequest { namespace, shard_keys, ..v1::DrainShardsRequest::default() };
    cluster.admin().drain_shards(request).await.unwrap();
}

fn lookup(key: &str) -> v1::LookupRequest {
    v1::LookupRequest { namespace: "orders".to_owned(), shard_key: key.to_owned() }
}
