//! A server with a namespace that is worth looking at, and a browser in front of it.

use std::sync::Arc;

use plimsoll_client::Executor;
use plimsoll_testkit::browser::{Browser, Page, Screen};
use plimsoll_testkit::{Cluster, Fixture, Oracle, SOON, Worker, eventually};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Browsers at a time: each takes a core while it draws.
static PLACES: Semaphore = Semaphore::const_new(2);

/// All of it.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) browser: Browser,
    _executors: Vec<Executor>,
    _oracle: Arc<Oracle>,
    _place: SemaphorePermit<'static>,
}

impl Scene {
    /// Six hosts with 48 shards of unlike loads, one of them with a name that would do
    /// harm if it were not escaped.
    pub(crate) async fn start() -> Self {
        let place = PLACES.acquire().await.unwrap();
        let orders = Fixture::fixed("orders", 48).quick().lease("3s");
        let cluster = Cluster::start([orders]).await.unwrap();
        let oracle = Oracle::new();
        let ids = ["host-1", "host-2", "host-3", "host-4", "host-5", "host-<b>6"];
        let start = async |id: &&str| {
            let load = |key: &str| key.parse().ok().map(|key: f64| 1.0 + 40.0 / (1.0 + key));
            Worker::new(id, &oracle).load(load).run(&cluster.url(), "orders").await
        };
        let executors = futures::future::try_join_all(ids.iter().map(start)).await.unwrap();
        eventually(SOON, "every shard is owned and measured", || async {
            let it = cluster.describe("orders").await.unwrap();
            (it.shards_without_owner == 0 && it.balance?.measured == 1.0).then_some(())
        })
        .await;
        let browser = Browser::start().await.unwrap();
        Self { cluster, browser, _executors: executors, _oracle: oracle, _place: place }
    }

    /// The address of a page.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.cluster.http())
    }

    /// A tab that shows a page.
    pub(crate) async fn open(&self, screen: Screen, path: &str) -> Page {
        let page = self.browser.open(screen).await.unwrap();
        page.go(&self.at(path)).await.unwrap();
        page
    }
}

/// Waits until the page says something.
pub(crate) async fn says(page: &Page, text: &str) {
    let text = serde_json::json!(text);
    let says = format!("document.body.innerText.includes({text})");
    let whole = "document.readyState === 'complete'";
    page.until("the page says it", &format!("{whole} && {says}")).await;
}
