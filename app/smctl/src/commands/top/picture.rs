//! What `top` shows: one look at a namespace, in the order it is shown.

use anyhow::Result;
use plimsoll_placement::policy::{Greedy, Mode};
use plimsoll_wire::v1::{
    DescribeNamespaceRequest, DescribeNamespaceResponse, ExecutorLoad, GetLoadsRequest,
    GetLoadsResponse,
};

use crate::server::Server;

const UPPER_BAND: &str = "hysteresis_upper_band";
const LOWER_BAND: &str = "hysteresis_lower_band";

pub(crate) struct Picture {
    pub(crate) address: String,
    pub(crate) namespace: DescribeNamespaceResponse,
    pub(crate) loads: GetLoadsResponse,
    pub(crate) bands: Bands,
}

/// Times the mean: above `upper` a host is hot, below `lower` it has room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bands {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Picture {
    pub(crate) async fn take(server: &Server, namespace: &str, shards: u32) -> Result<Self> {
        let request = server.request(DescribeNamespaceRequest { name: namespace.to_owned() });
        let described =
            server.call("DescribeNamespace", server.admin().describe_namespace(request)).await?;
        let loads = loads(server, namespace, shards).await?;
        let bands = Bands::of(&described);
        Ok(Self { address: server.address().to_owned(), namespace: described, loads, bands })
    }
}

/// The load of an executor for each unit of its capacity. Servers before 0.2 do
/// not tell a capacity.
pub(crate) fn weight(executor: &ExecutorLoad) -> f64 {
    executor.load / if executor.capacity > 0.0 { executor.capacity } else { 1.0 }
}

/// Executors and shards, the hottest first.
async fn loads(server: &Server, namespace: &str, shards: u32) -> Result<GetLoadsResponse> {
    let namespace = namespace.to_owned();
    let message =
        GetLoadsRequest { namespace, hottest_shards: shards, ..GetLoadsRequest::default() };
    let request = server.request(message);
    let mut loads = server.call("GetLoads", server.admin().get_loads(request)).await?;
    let hotter = |a: &ExecutorLoad, b: &ExecutorLoad| weight(b).total_cmp(&weight(a));
    loads.executors.sort_by(|a, b| hotter(a, b).then_with(|| a.executor_id.cmp(&b.executor_id)));
    Ok(loads)
}

impl Bands {
    /// From the settings of the namespace, whatever table they stand in. The
    /// adaptive planner has no bands to set: what is within 5 % of the mean passes
    /// for even.
    fn of(namespace: &DescribeNamespaceResponse) -> Self {
        let mode = namespace.settings.get("load_balancing_mode");
        if mode.is_some_and(|mode| mode == Mode::Adaptive.as_str()) {
            return Self { lower: 0.95, upper: 1.05 };
        }
        let setting = |name: &str| {
            let found = namespace.settings.iter().find(|(key, _)| key.ends_with(name));
            found.and_then(|(_, value)| value.parse().ok())
        };
        let default = Greedy::default();
        Self {
            lower: setting(LOWER_BAND).unwrap_or(default.hysteresis_lower_band),
            upper: setting(UPPER_BAND).unwrap_or(default.hysteresis_upper_band),
        }
    }
}
