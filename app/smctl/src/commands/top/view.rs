//! The picture in JSON.

use plimsoll_wire::v1::{ExecutorLoad, OwnedLoad};
use serde::Serialize;

use super::picture::Picture;
use crate::figures::BalanceView;
use crate::go_time;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct View {
    namespace: String,
    r#type: String,
    frozen: bool,
    shards: u64,
    shards_without_owner: u64,
    shards_in_handover: u64,
    moves: u64,
    lower_band: f64,
    upper_band: f64,
    balance: Option<BalanceView>,
    executors: Vec<ExecutorView>,
    hottest_shards: Vec<ShardView>,
    conditions: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ExecutorView {
    #[serde(rename = "ExecutorID")]
    executor_id: String,
    host: String,
    status: String,
    load: f64,
    shards: u64,
    last_heartbeat: String,
    protocol: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ShardView {
    shard_key: String,
    #[serde(rename = "ExecutorID")]
    executor_id: String,
    smoothed_load: Option<f64>,
}

impl From<Picture> for View {
    fn from(picture: Picture) -> Self {
        let Picture { namespace, loads, bands, .. } = picture;
        Self {
            namespace: namespace.name,
            r#type: namespace.r#type,
            frozen: namespace.frozen,
            shards: namespace.shards,
            shards_without_owner: namespace.shards_without_owner,
            shards_in_handover: namespace.shards_in_handover,
            moves: loads.moves,
            lower_band: bands.lower,
            upper_band: bands.upper,
            balance: loads.balance.map(BalanceView::from),
            executors: loads.executors.into_iter().map(ExecutorView::from).collect(),
            hottest_shards: loads.shards.into_iter().map(ShardView::from).collect(),
            conditions: namespace.conditions,
        }
    }
}

impl From<ExecutorLoad> for ExecutorView {
    fn from(executor: ExecutorLoad) -> Self {
        Self {
            last_heartbeat: go_time::nanos(executor.last_heartbeat.as_ref()),
            executor_id: executor.executor_id,
            host: executor.host,
            status: executor.status,
            load: executor.load,
            shards: executor.shards,
            protocol: executor.protocol,
        }
    }
}

impl From<OwnedLoad> for ShardView {
    fn from(shard: OwnedLoad) -> Self {
        let OwnedLoad { shard_key, executor_id, smoothed_load, .. } = shard;
        Self { shard_key, executor_id, smoothed_load }
    }
}
