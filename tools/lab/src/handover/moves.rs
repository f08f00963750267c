//! Every shard moves once under load: one host after the other is drained.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::Spectator;
use plimsoll_ownership::event::What;
use plimsoll_placement::time::Time;
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::sharddistributor::{DrainHostsRequest, DrainedHost, UndrainHostsRequest};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::transport::Channel;

use super::Load;
use super::service::{Host, Plan, counted_at_rest};
use super::traffic::{Outcome, Traffic};
use crate::figures::Figure;
use crate::measure::{Latencies, Percentiles};
use crate::setup::{Began, Laboratory, channel, fixed, ids};

const NAMESPACE: &str = "moves";
const PATIENCE: Duration = Duration::from_secs(20);
/// Traffic alone, before the first and after the last move.
const QUIET: Duration = Duration::from_secs(1);

pub(super) async fn measure(load: Load) -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let owners = ids(load.executors);
    let namespace = laboratory.create(fixed(NAMESPACE, load.shards, &owners)).await?;
    let (began, mut begun) = mpsc::unbounded_channel();
    let plan = Plan {
        url: laboratory.url(),
        namespace: NAMESPACE.to_owned(),
        work: load.work(),
        clock: namespace.clock,
        began,
        disk: None,
    };
    let mut hosts = Vec::new();
    for id in &owners {
        hosts.push(Host::start(&plan, id, "1").await?);
    }
    for _ in 0..load.shards {
        timeout(PATIENCE, begun.recv()).await.context("the first shards did not start")?;
    }
    let spectator = Spectator::connect(&laboratory.url(), NAMESPACE).await?;
    let traffic = Traffic::start(spectator.clone(), load);
    tokio::time::sleep(QUIET).await;
    let gaps = Latencies::new();
    let mut drains = Drains {
        namespace: Arc::clone(&namespace),
        client: ShardDistributorApiClient::new(channel(&laboratory.url())?),
        begun: &mut begun,
        gaps: &gaps,
    };
    for host in &owners {
        drains.drain(host).await?;
    }
    tokio::time::sleep(QUIET).await;
    let outcome = traffic.stop().await?;
    // The planner may be about to fill the host that was emptied last.
    let counted = counted_at_rest(&hosts, load.shards).await?;
    let held = spectator.stats().held;
    drop(hosts);
    laboratory.server.stop().await;
    Ok(figures(&outcome, counted, held, &gaps.percentiles()))
}

/// Orders drains and follows what they lead to.
struct Drains<'a> {
    namespace: Arc<NamespaceHandle>,
    client: ShardDistributorApiClient<Channel>,
    begun: &'a mut mpsc::UnboundedReceiver<Began>,
    gaps: &'a Latencies,
}

impl Drains<'_> {
    /// Drains a host, times each of its shards from the moment that its owner was
    /// told to stop until the next one runs it, and ends the drain.
    async fn drain(&mut self, host: &str) -> Result<()> {
        while self.begun.try_recv().is_ok() {}
        let ordered = self.namespace.clock.now();
        let drained = DrainedHost { hostname: host.to_owned(), ..Default::default() };
        let namespace = NAMESPACE.to_owned();
        let request = DrainHostsRequest { namespace: namespace.clone(), hosts: vec![drained] };
        self.client.drain_hosts(request).await?;
        let mut started = HashMap::new();
        while self.owns_any(host).await? {
            self.follow(&mut started).await?;
        }
        self.settle(host, ordered, started).await?;
        let request = UndrainHostsRequest { namespace, hostnames: vec![host.to_owned()] };
        self.client.undrain_hosts(request).await?;
        Ok(())
    }

    async fn owns_any(&self, host: &str) -> Result<bool> {
        let owner = host.to_owned();
        let any = self
            .namespace
            .read(move |_, it| it.routes().any(|(_, executor, _)| **executor == *owner));
        Ok(any.await?)
    }

    async fn follow(&mut self, started: &mut HashMap<String, Time>) -> Result<()> {
        let next = timeout(PATIENCE, self.begun.recv()).await.context("a move did not end")?;
        let Began { shard, at, .. } = next.context("the executors are gone")?;
        started.insert(shard, at);
        Ok(())
    }

    async fn settle(
        &mut self,
        host: &str,
        ordered: Time,
        mut started: HashMap<String, Time>,
    ) -> Result<()> {
        for (shard, revoked) in self.revoked(host, ordered) {
            while !started.contains_key(&shard) {
                self.follow(&mut started).await?;
            }
            let at = started.get(&shard).copied().unwrap_or(revoked);
            self.gaps.record(at - revoked);
        }
        Ok(())
    }

    /// When the shards of a host were revoked after that order.
    fn revoked(&self, host: &str, ordered: Time) -> HashMap<String, Time> {
        let revoked = self.namespace.history.newest(usize::MAX, |event| {
            event.what == What::Revoked
                && event.at >= ordered
                && event.executor.as_deref() == Some(host)
        });
        revoked.into_iter().filter_map(|event| Some((event.shard?.to_string(), event.at))).collect()
    }
}

fn figures(outcome: &Outcome, counted: u64, held: u64, gaps: &Percentiles) -> Vec<Figure> {
    let lost = outcome.sent - outcome.answered;
    let latencies = &outcome.latencies;
    let complaint = outcome.complaint.as_deref().unwrap_or("none");
    vec![
        Figure {
            name: "moves",
            measured: format!(
                "{lost} of {} requests lost (first complaint: {complaint}), {} answered and {counted} counted, {held} held; p50 {:.2} ms, p99 {:.2} ms, longest {:.1} ms from when they were due",
                outcome.sent,
                outcome.answered,
                latencies.p50_ms,
                latencies.p99_ms,
                latencies.max_ms
            ),
            to_reach: "none lost, as many counted as answered",
            reached: lost == 0 && counted == outcome.answered,
        },
        Figure {
            name: "moves",
            measured: format!(
                "nobody serves a shard for p50 {:.2} ms, p99 {:.2} ms, longest {:.1} ms over {} planned moves, ~100 at a time, from the revocation until the next owner runs it",
                gaps.p50_ms, gaps.p99_ms, gaps.max_ms, gaps.count
            ),
            to_reach: "p50 under 5 ms, p99 under 25 ms",
            reached: gaps.count > 0 && gaps.p50_ms < 5.0 && gaps.p99_ms < 25.0,
        },
    ]
}
