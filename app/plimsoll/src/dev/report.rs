//! The state of the demonstration at one moment, as the server tells it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_placement::policy::Mode;
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use tokio::time::{Instant, sleep};
use tonic::transport::Channel;

use super::cluster::Cluster;
use super::oracle::Oracle;
use super::traffic::{Tally, Traffic};

/// How long every shard may take to be measured.
const MEASURED_WITHIN: Duration = Duration::from_secs(30);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Asks for reports.
pub(super) struct Reporter {
    namespace: String,
    admin: AdminServiceClient<Channel>,
    tally: Box<dyn Fn() -> Tally + Send + Sync>,
    oracle: Arc<Oracle>,
}

/// One moment.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) balance: v1::Balance,
    pub(super) hosts: Vec<v1::ExecutorLoad>,
    pub(super) shards: u64,
    pub(super) moves: u64,
    pub(super) conditions: Vec<String>,
    pub(super) settings: HashMap<String, String>,
    pub(super) tally: Tally,
    pub(super) double_owners: u64,
}

impl Reporter {
    pub(super) fn new(cluster: &Cluster, traffic: &Traffic) -> Self {
        Self {
            namespace: cluster.namespace.clone(),
            admin: cluster.admin(),
            tally: Box::new(traffic.reader()),
            oracle: cluster.oracle.clone(),
        }
    }

    /// The state now.
    pub(super) async fn report(&mut self) -> Result<Report> {
        let namespace = self.namespace.clone();
        let request = v1::GetLoadsRequest { namespace, ..Default::default() };
        let loads = self.admin.get_loads(request).await?.into_inner();
        let request = v1::DescribeNamespaceRequest { name: self.namespace.clone() };
        let description = self.admin.describe_namespace(request).await?.into_inner();
        Ok(Report {
            balance: loads.balance.context("the server sent no balance")?,
            hosts: loads.executors,
            shards: description.shards,
            moves: loads.moves,
            conditions: description.conditions,
            settings: description.settings,
            tally: (self.tally)(),
            double_owners: self.oracle.doubles(),
        })
    }

    /// The state once the load of every shard is known.
    pub(super) async fn until_measured(&mut self) -> Result<Report> {
        let begun = Instant::now();
        loop {
            let report = self.report().await?;
            if report.balance.measured >= 1.0 {
                return Ok(report);
            }
            let waited = begun.elapsed() < MEASURED_WITHIN;
            anyhow::ensure!(waited, "loads did not come within {MEASURED_WITHIN:?}: {report:?}");
            sleep(LOOK).await;
        }
    }
}

impl Report {
    /// For those without a terminal.
    pub(super) fn line(&self) -> String {
        let (balance, tally) = (&self.balance, &self.tally);
        format!(
            "spread {:5.2} %  max/mean {:.3}  moves {:4}  requests {}  wrong owner {}  failed {}  double owners {}",
            balance.spread * 100.0,
            balance.max_over_mean,
            self.moves,
            tally.requests,
            tally.wrong_owner,
            tally.failed,
            self.double_owners,
        )
    }

    /// Which planner the namespace uses.
    pub(super) fn mode(&self) -> Option<Mode> {
        Mode::parse(self.settings.get("load_balancing_mode")?)
    }

    /// A setting that is a number.
    pub(super) fn setting(&self, name: &str) -> Option<f64> {
        self.settings.get(name)?.parse().ok()
    }
}
