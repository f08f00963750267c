//! Every method once, with the numbers of every field checked by hand against
//! the reference: requests are written and answers are read without any
//! generated type.

use plimsoll_testkit::go::GoClient;
use plimsoll_testkit::proto::{Fields, Writer};
use plimsoll_testkit::{Cluster, Fixture, SOON, eventually};

use crate::common::{api, good, heartbeat, watch_request};

#[tokio::test]
async fn heartbeat_request_and_response() {
    let stage = Stage::new().await;
    let answer = stage.beat("go@1", "h1", &["0"]).await;
    assert_eq!(answer.numbers(), [1, 2]);
    let assignments = answer.message_map(1);
    assert_eq!(assignments.len(), 2);
    for (_, assignment) in assignments {
        assert_eq!((assignment.numbers(), assignment.integer(1)), (vec![1], 1));
    }
    assert_eq!(answer.integer(2), 4);
}

#[tokio::test]
async fn get_shard_owner() {
    let stage = Stage::new().await;
    for method in ["GetShardOwner", "InspectShard"] {
        let answer = stage.ask(method, Writer::new().text(1, "1").text(2, "orders")).await;
        assert_eq!(answer.numbers(), [1, 2, 3], "{method}");
        assert_eq!((answer.text(1).as_str(), answer.text(2).as_str()), ("go@1", "orders"));
        assert_eq!(answer.map(3), [("k".to_owned(), "v".to_owned())]);
    }
}

#[tokio::test]
async fn get_namespace_state() {
    let stage = Stage::new().await;
    let answer = stage.ask("GetNamespaceState", namespace()).await;
    assert_eq!(answer.numbers(), [1, 2]);
    assert_eq!(answer.text(1), "orders");
    assert_executor_state(&answer.message(2));
}

#[tokio::test]
async fn get_executor_state() {
    let stage = Stage::new().await;
    let answer = stage.ask("GetExecutorState", namespace().text(2, "go@1")).await;
    assert_eq!(answer.numbers(), [1, 2]);
    assert_eq!(answer.text(1), "orders");
    assert_executor_state(&answer.message(2));
}

#[tokio::test]
async fn watch_namespace_state() {
    let stage = Stage::new().await;
    stage.drain("1").await;
    let (path, request) = (api("WatchNamespaceState"), watch_request("orders"));
    let mut watch = stage.client.open(&path, &request, false).await.unwrap();
    let bytes = watch.next_bytes().await.unwrap().unwrap();
    let state = Fields::scan(&bytes).unwrap();
    assert_eq!(state.numbers(), [1, 2]);
    assert_eq!(state.texts(2), ["1"]);
    let executor = state.message(1);
    assert_eq!(executor.numbers(), [1, 2, 3]);
    assert_eq!(executor.text(1), "go@1");
    assert_eq!(executor.map(2), [("k".to_owned(), "v".to_owned())]);
    let shards = executor.messages(3);
    assert!(shards.iter().all(|shard| shard.numbers() == [1]));
    assert!(shards.iter().any(|shard| shard.text(1) == "0"));
}

#[tokio::test]
async fn list_namespaces() {
    let stage = Stage::new().await;
    let answer = stage.ask("ListNamespaces", Writer::new()).await;
    assert_eq!(answer.numbers(), [1]);
    let namespaces = answer.messages(1);
    let texts = |it: &Fields| (it.text(1), it.text(2), it.text(3), it.integer(4));
    let all: Vec<_> = namespaces.iter().map(texts).collect();
    let namespace = |name: &str, kind: &str, shards| {
        (name.to_owned(), kind.to_owned(), "onboarded".to_owned(), shards)
    };
    assert_eq!(all, [namespace("orders", "fixed", 2), namespace("queues", "ephemeral", 0)]);
}

#[tokio::test]
async fn drains_of_shards() {
    let stage = Stage::new().await;
    stage.drain("1").await;
    stage.drain("0").await;
    let answer = stage.ask("GetDrainedShards", namespace()).await;
    assert_eq!(answer.numbers(), [1, 2]);
    assert_eq!((answer.text(1).as_str(), answer.texts(2)), ("orders", strings(["0", "1"])));
    let request = namespace().text(2, "1").text(2, "1").text(2, "7");
    let answer = stage.ask("UndrainShards", request).await;
    assert_eq!((answer.numbers(), answer.texts(1)), (vec![1], strings(["1"])));
    let answer = stage.ask("GetDrainedShards", namespace()).await;
    assert_eq!(answer.texts(2), ["0"]);
}

#[tokio::test]
async fn drains_of_hosts() {
    let stage = Stage::new().await;
    let at = Writer::new().integer(1, 1_700_000_000).integer(2, 5_000_000);
    let full = Writer::new().text(1, "h9").message(2, &at).text(3, "me").text(4, "disk");
    let bare = Writer::new().text(1, "h2");
    let answer = stage.ask("DrainHosts", namespace().message(2, &full).message(2, &bare)).await;
    assert_eq!(answer.numbers(), Vec::<u64>::new());
    // Drained already: it keeps its record.
    let again = Writer::new().text(1, "h9").text(4, "other");
    stage.ask("DrainHosts", namespace().message(2, &again)).await;

    let answer = stage.ask("GetDrainedHosts", namespace()).await;
    assert_eq!((answer.numbers(), answer.text(1)), (vec![1, 2], "orders".to_owned()));
    let hosts = answer.messages(2);
    assert_eq!(hosts.iter().map(|host| host.text(1)).collect::<Vec<_>>(), ["h2", "h9"]);
    assert!(hosts[0].message(2).integer(1) > 1_700_000_000, "the server's clock");
    assert_eq!(hosts[1].numbers(), [1, 2, 3, 4]);
    assert_eq!((hosts[1].text(3).as_str(), hosts[1].text(4).as_str()), ("me", "disk"));
    let drained_at = hosts[1].message(2);
    assert_eq!((drained_at.integer(1), drained_at.integer(2)), (1_700_000_000, 5_000_000));

    let answer = stage.ask("UndrainHosts", namespace().text(2, "h9").text(2, "h3")).await;
    assert_eq!((answer.numbers(), answer.texts(1)), (vec![1], strings(["h9"])));
}

#[tokio::test]
async fn force_reset_namespace() {
    let stage = Stage::new().await;
    stage.drain("1").await;
    let answer = stage.ask("ForceResetNamespace", namespace()).await;
    assert_eq!(answer.numbers(), [1]);
    assert!(answer.integer(1) >= 2, "{answer:?}");
    let answer = stage.ask("GetDrainedShards", namespace()).await;
    assert_eq!(answer.texts(2), Vec::<String>::new());
}

#[tokio::test]
async fn get_namespace_loads() {
    let stage = Stage::new().await;
    stage.beat("go@1", "h1", &["0", "1"]).await;
    let answer = stage.ask("GetNamespaceLoads", namespace()).await;
    assert_eq!((answer.numbers(), answer.text(1)), (vec![1, 2], "orders".to_owned()));
    let executor = answer.message(2);
    assert_eq!((executor.numbers(), executor.text(1)), (vec![1, 2], "go@1".to_owned()));
    let mut loads: Vec<_> =
        executor.messages(2).iter().map(|shard| (shard.text(1), shard.double(2))).collect();
    loads.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(loads, [("0".to_owned(), 2.5), ("1".to_owned(), 2.5)]);
}

#[tokio::test]
async fn get_full_namespace_state() {
    let stage = Stage::new().await;
    stage.beat("go@1", "h1", &["0"]).await;
    stage.drain("7").await;
    let host = Writer::new().text(1, "h9").text(4, "disk");
    stage.ask("DrainHosts", namespace().message(2, &host)).await;
    let answer = stage.ask("GetFullNamespaceState", namespace()).await;
    assert_eq!(answer.numbers(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(answer.text(1), "orders");
    let (id, beat) = &answer.message_map(2)[0];
    assert_eq!(id, "go@1");
    assert_eq!((beat.integer(2), beat.map(4)), (1, vec![("k".to_owned(), "v".to_owned())]));
    assert!(beat.message(1).integer(1) > 1_700_000_000, "seconds since 1970");
    let statistics = answer.message_map(3);
    let zero = statistics.iter().find(|(shard, _)| shard == "0").unwrap();
    assert_eq!(zero.1.double(1), 2.5);
    let (id, assigned) = &answer.message_map(4)[0];
    assert_eq!(id, "go@1");
    assert!(assigned.message_map(1).iter().all(|(_, shard)| shard.integer(1) == 1));
    assert_eq!(answer.texts(5), ["7"]);
    let (host, drain) = &answer.message_map(6)[0];
    assert_eq!((host.as_str(), drain.text(4).as_str()), ("h9", "disk"));
}

/// Two shards on one Go executor that has a host and a label.
struct Stage {
    client: GoClient,
    _cluster: Cluster,
}

impl Stage {
    async fn new() -> Self {
        let orders = Fixture::fixed("orders", 2).set("heartbeat_ttl", "20s");
        let cluster = Cluster::start([Fixture::ephemeral("queues"), orders]).await.unwrap();
        let client = cluster.go().await.unwrap();
        let stage = Self { client, _cluster: cluster };
        eventually(SOON, "both shards are granted", || async {
            let answer = stage.beat("go@1", "h1", &[]).await;
            (answer.message_map(1).len() == 2).then_some(())
        })
        .await;
        stage
    }

    async fn ask(&self, method: &str, request: Writer) -> Fields {
        good(&self.client.call_bytes(&api(method), &request.finish()).await.unwrap())
    }

    async fn beat(&self, id: &str, host: &str, running: &[&str]) -> Fields {
        let label = Writer::new().text(1, "k").text(2, "v");
        let host = Writer::new().text(1, host);
        let mut beat = Writer::new().text(1, "orders").text(2, id).integer(3, 1);
        for shard in running {
            let report = Writer::new().integer(1, 1).double(2, 2.5);
            beat = beat.message(4, &Writer::new().text(1, shard).message(2, &report));
        }
        let beat = beat.message(5, &label).message(7, &host).finish();
        good(&self.client.call_bytes(&heartbeat(), &beat).await.unwrap())
    }

    async fn drain(&self, shard: &str) {
        let answer = self.ask("DrainShards", namespace().text(2, shard)).await;
        assert_eq!(answer.numbers(), Vec::<u64>::new());
    }
}

fn namespace() -> Writer {
    Writer::new().text(1, "orders")
}

fn assert_executor_state(executor: &Fields) {
    assert_eq!(executor.numbers(), [1, 2, 3, 4, 5, 6]);
    assert_eq!((executor.text(1).as_str(), executor.integer(2)), ("go@1", 1));
    assert!(executor.message(3).integer(1) > 1_700_000_000, "seconds since 1970");
    assert_eq!(executor.map(4), [("k".to_owned(), "v".to_owned())]);
    let shards = executor.messages(5);
    assert_eq!(shards.iter().map(|shard| shard.text(1)).collect::<Vec<_>>(), ["0", "1"]);
    for shard in shards {
        assert_eq!((shard.numbers(), shard.integer(2)), (vec![1, 2, 3], 1));
        assert!(shard.integer(3) > 0, "a revision");
    }
    assert_eq!(executor.message(6).text(1), "h1");
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}
