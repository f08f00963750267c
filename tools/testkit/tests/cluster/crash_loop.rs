//! Shards that kill whoever gets them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::{Executor, LookupError};
use plimsoll_testkit::{Cluster, Fixture, Oracle, Worker, eventually, http_get};
use tokio::sync::mpsc;

const POISON: &str = "13";
const LONG: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_whose_owners_die_on_three_hosts_is_quarantined_and_the_others_live() {
    let orders = Fixture::fixed("orders", 20).quick();
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let mut fleet = Fleet::start(&cluster, &oracle, 6).await;
    let deaths = fleet.die_until_quarantined(&cluster).await;
    assert_eq!(deaths, 3);
    // The event comes first: the drain is shown once it is stored.
    let shards = eventually(LONG, "the drain is stored", || async {
        let shards = cluster.drains("orders").await.unwrap().shards;
        (!shards.is_empty()).then_some(shards)
    })
    .await;
    assert_eq!(shards.len(), 1, "nobody else is suspected: {shards:?}");
    assert_eq!((shards[0].name.as_str(), shards[0].reason.as_str()), (POISON, "crash-loop"));
    let events = cluster.history("orders").await.unwrap();
    let event = events.iter().find(|event| event.kind == "quarantined").unwrap();
    assert_eq!(event.shard_key, POISON);
    let metrics = http_get(cluster.http(), "/metrics").await.unwrap();
    assert!(metrics.lines().any(|it| it.contains("quarantine") && it.ends_with(" 1")), "{metrics}");

    eventually(LONG, "everything else runs", || async {
        (oracle.running().len() == 19).then_some(())
    })
    .await;
    let spectator = cluster.spectator("orders").await.unwrap();
    let drained = spectator.lookup(POISON).await.unwrap_err();
    assert!(matches!(drained, LookupError::Drained { .. }), "{drained:?}");
    assert_eq!(fleet.alive.len(), 3);
    oracle.assert_clean();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_quarantined_when_that_is_switched_off() {
    let orders = Fixture::fixed("orders", 20).quick().set("crash_loop.enabled", "false");
    let (cluster, oracle) = (Cluster::start([orders]).await.unwrap(), Oracle::new());
    let mut fleet = Fleet::start(&cluster, &oracle, 6).await;
    for _ in 0..4 {
        fleet.next_death().await;
    }
    assert!(cluster.drains("orders").await.unwrap().shards.is_empty());
    oracle.assert_clean();
}

/// Executors on hosts of their own that die when they are given the poison.
struct Fleet {
    alive: BTreeMap<String, Executor>,
    oracle: Arc<Oracle>,
    poisoned: mpsc::UnboundedReceiver<String>,
}

impl Fleet {
    async fn start(cluster: &Cluster, oracle: &Arc<Oracle>, count: usize) -> Self {
        let (sender, poisoned) = mpsc::unbounded_channel();
        let url = &cluster.url();
        let start = async |n| {
            let (id, sender) = (format!("host-{n}"), sender.clone());
            let name = id.clone();
            let worker = Worker::new(&id, oracle).on_start(move |shard| {
                if shard.key() == POISON {
                    // The test may be over.
                    let _ = sender.send(name.clone());
                }
            });
            worker.run(url, "orders").await.map(|executor| (id, executor))
        };
        let alive = futures::future::try_join_all((0..count).map(start)).await.unwrap();
        Self { alive: alive.into_iter().collect(), oracle: oracle.clone(), poisoned }
    }

    /// Kills the next executor that gets the poison.
    async fn next_death(&mut self) {
        let id = tokio::time::timeout(LONG, self.poisoned.recv()).await.unwrap().unwrap();
        drop(self.alive.remove(&id));
        self.oracle.died(&id);
    }

    /// Lets them die one after the other; gives how many did.
    async fn die_until_quarantined(&mut self, cluster: &Cluster) -> usize {
        let quarantined = eventually(LONG, "the poison is quarantined", || async {
            let events = cluster.history("orders").await.unwrap();
            events.iter().any(|event| event.kind == "quarantined").then_some(())
        });
        tokio::pin!(quarantined);
        let mut deaths = 0;
        loop {
            tokio::select! {
                () = &mut quarantined => return deaths,
                () = self.next_death() => deaths += 1,
            }
        }
    }
}
