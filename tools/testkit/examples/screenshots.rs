//! The pictures of docs/console.md, taken of a running server by a real Chromium:
//! `cargo run -p plimsoll-testkit --example screenshots [FOLDER]`.
//!
//! The namespace begins as a hash ring left it, so that there is something to balance,
//! and is looked at once its history is long enough to be one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::Executor;
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate};
use plimsoll_testkit::browser::{Browser, Page, Screen};
use plimsoll_testkit::{Cluster, Oracle, Worker};
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::v1;

/// How long the history is that the pictures show.
const HISTORY: Duration = Duration::from_secs(75);

/// A picture: its name, the page, what must be there, and the screen.
type Shot = (&'static str, &'static str, &'static str, Screen);

const SHOTS: [Shot; 12] = [
    ("overview", "/", "matching", Screen::WIDE),
    ("overview-narrow", "/", "matching", Screen::NARROW),
    ("namespace", "/namespaces/matching", "Hottest shards", Screen::WIDE),
    ("namespace-dark", "/namespaces/matching", "Hottest shards", DARK),
    ("namespace-narrow", "/namespaces/matching", "Hottest shards", Screen::NARROW),
    ("plan", "/namespaces/matching/plan?mode=greedy", "to compare", Screen::WIDE),
    ("events", "/namespaces/matching/events", "granted", Screen::WIDE),
    ("shard", "", "Why it is here", Screen::WIDE),
    ("order", "/namespaces/matching/order?do=drain-host&target=host-4", "runs", Screen::WIDE),
    ("walk-through", "/walk-through?right=adaptive&step=2", "Step 3", Screen::WIDE),
    ("walk-through-narrow", "/walk-through?step=3", "Step 4", NARROW_DARK),
    ("not-found", "/namespaces/nobody", "Not found", Screen::WIDE),
];

const DARK: Screen = Screen { dark: true, ..Screen::WIDE };
const NARROW_DARK: Screen = Screen { dark: true, ..Screen::NARROW };

#[tokio::main]
async fn main() -> Result<()> {
    let output = std::env::args().nth(1).unwrap_or_else(|| "docs/console".to_owned());
    let output = Path::new(&output);
    std::fs::create_dir_all(output).context("cannot make the folder of the pictures")?;
    let mut stage = Stage::set().await?;
    let browser = Browser::start().await?;
    let at = |path: &str| format!("http://{}{path}", stage.cluster.http());
    // A shard that has moved has a history; and its load is known since it is looked at.
    tokio::time::sleep(HISTORY / 5).await;
    let shard = browser.open(Screen::WIDE).await?;
    shard.go(&at(&format!("/namespaces/matching/shards/{}", stage.moved().await?))).await?;
    tokio::time::sleep(HISTORY * 4 / 5).await;
    stage.drain("host-17", "disk is slow, ticket 4711").await?;
    for (name, path, text, screen) in SHOTS {
        let fresh = browser.open(screen).await?;
        let page = if name == "shard" { &shard } else { &fresh };
        if name != "shard" {
            page.go(&at(path)).await?;
        }
        // Of what goes on for long the screen's part is enough.
        let whole = screen.width > Screen::NARROW.width && name != "events";
        shoot(page, text, whole, &output.join(format!("{name}.png"))).await?;
    }
    let open = browser.open(Screen::WIDE).await?;
    open.go(&at("/")).await?;
    stage.cluster.stop().await;
    shoot(&open, "No contact with the server", false, &output.join("away.png")).await
}

async fn shoot(page: &Page, text: &str, whole: bool, file: &Path) -> Result<()> {
    let said = format!("document.body.innerText.includes({:?})", text);
    page.until("the page is there", &said).await;
    // What moves when it changes has come to rest, and charts are drawn.
    page.until("it is at rest", "document.getAnimations().length === 0").await;
    std::fs::write(file, page.picture(whole).await?)?;
    eprintln!("{}", file.display());
    Ok(())
}

/// A server with a namespace that is worth looking at.
struct Stage {
    cluster: Cluster,
    _executors: Vec<Executor>,
    _oracle: Arc<Oracle>,
}

impl Stage {
    async fn set() -> Result<Self> {
        let snapshot = generate("zipf-0.8", 1, Size::default())?;
        let cluster = Cluster::start([]).await?;
        cluster.admin().create_namespace(namespace(&snapshot)).await?;
        let quiet = v1::CreateNamespaceRequest {
            name: "payments".to_owned(),
            r#type: "ephemeral".to_owned(),
            ..Default::default()
        };
        cluster.admin().create_namespace(quiet).await?;
        let oracle = Oracle::new();
        let loads: std::collections::HashMap<_, _> =
            snapshot.shards.iter().map(|shard| (shard.key.clone(), shard.load)).collect();
        let loads = Arc::new(loads);
        let start = async |host: &String| {
            let loads = loads.clone();
            let worker = Worker::new(&format!("host-{host}"), &oracle);
            let worker = worker.load(move |key| loads.get(key).copied());
            worker.run(&cluster.url(), "matching").await
        };
        let executors = futures::future::try_join_all(snapshot.hosts.iter().map(start)).await?;
        Ok(Self { cluster, _executors: executors, _oracle: oracle })
    }

    /// The key of a shard that has moved for balance.
    async fn moved(&self) -> Result<String> {
        let events = self.cluster.history("matching").await?;
        let moved = events.into_iter().find(|it| it.kind == "granted" && it.detail == "balance");
        Ok(moved.context("nothing has moved")?.shard_key)
    }

    async fn drain(&self, host: &str, reason: &str) -> Result<()> {
        let host = go::DrainedHost {
            hostname: host.to_owned(),
            drained_by: "ana".to_owned(),
            reason: reason.to_owned(),
            ..Default::default()
        };
        let request = go::DrainHostsRequest { namespace: "matching".to_owned(), hosts: vec![host] };
        ShardDistributorApiClient::new(self.cluster.channel()).drain_hosts(request).await?;
        Ok(())
    }
}

fn namespace(snapshot: &Snapshot) -> v1::CreateNamespaceRequest {
    let grants = snapshot.shards.iter().map(|shard| v1::InitialGrant {
        shard_key: shard.key.clone(),
        executor_id: format!("host-{}", shard.host),
    });
    v1::CreateNamespaceRequest {
        name: "matching".to_owned(),
        r#type: "fixed".to_owned(),
        shard_num: snapshot.shards.len() as u64,
        initial_grants: grants.collect(),
        ..Default::default()
    }
}
