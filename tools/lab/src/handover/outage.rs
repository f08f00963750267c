//! Every server is away for a while, less than a lease: the service goes on.

use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::Contact;
use plimsoll_server::clock::Clock;
use plimsoll_testkit::{Cluster, Fixture};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Load;
use super::service::{Host, Plan};
use super::traffic::{Outcome, Traffic};
use crate::figures::Figure;
use crate::setup::ids;

const NAMESPACE: &str = "outage";
const PATIENCE: Duration = Duration::from_secs(30);
/// How long nobody can be asked: less than what is left of a lease.
const AWAY: Duration = Duration::from_secs(3);
/// Traffic alone, before and after.
const QUIET: Duration = Duration::from_secs(1);

pub(super) async fn measure(load: Load) -> Result<Vec<Figure>> {
    let fixture = Fixture::fixed(NAMESPACE, load.shards).lease("8s");
    let mut cluster = Cluster::start([fixture]).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let plan = Plan {
        url: cluster.url(),
        namespace: NAMESPACE.to_owned(),
        work: load.work(),
        clock: Clock::start(),
        began,
        disk: None,
    };
    let mut hosts = Vec::new();
    for id in ids(load.executors) {
        hosts.push(Host::start(&plan, &id, "1").await?);
    }
    while hosts.iter().map(Host::shards).sum::<usize>() < load.shards as usize {
        timeout(PATIENCE, begun.recv()).await.context("the first shards did not start")?;
    }
    let spectator = cluster.spectator(NAMESPACE).await?;
    let traffic = Traffic::start(spectator.clone(), load);
    sleep(QUIET).await;
    while begun.try_recv().is_ok() {}
    cluster.stop().await;
    sleep(AWAY).await;
    let age = spectator.age().context("the map is gone")?;
    let back = Instant::now();
    cluster.resume().await;
    for host in &hosts {
        timeout(PATIENCE, host.until(Contact::Connected)).await.context("a host is not back")??;
    }
    let returned = back.elapsed();
    sleep(QUIET).await;
    let outcome = traffic.stop().await?;
    let restarted = std::iter::from_fn(|| begun.try_recv().ok()).count();
    drop(hosts);
    cluster.stop().await;
    Ok(vec![figure(&outcome, restarted, age, returned)])
}

fn figure(outcome: &Outcome, restarted: usize, age: Duration, returned: Duration) -> Figure {
    let lost = outcome.sent - outcome.answered;
    let complaint = outcome.complaint.as_deref().unwrap_or("none");
    Figure {
        name: "outage",
        measured: format!(
            "no server for {AWAY:?}: {lost} of {} requests failed (first complaint: {complaint}), {restarted} shards restarted; the map said that it was {age:.1?} old; all executors back {returned:.1?} after the server",
            outcome.sent
        ),
        to_reach: "0 failed, 0 restarted, an age of 3 s or more",
        reached: lost == 0 && restarted == 0 && age >= AWAY,
    }
}
