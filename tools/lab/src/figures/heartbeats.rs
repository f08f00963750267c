//! Unary heartbeats with 100 shard loads each, as Go executors send them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_server::config::StoreKind;
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_executor_api_client::ShardDistributorExecutorApiClient;
use tonic::transport::Channel;

use super::Figure;
use crate::measure::{Repeated, saturate};
use crate::setup::{Laboratory, channel, fixed, ids};

const EXECUTORS: usize = 200;
const LOADS: u64 = 100;
const CONNECTIONS: usize = 4;
const CALLERS: usize = EXECUTORS;
const SPAN: Duration = Duration::from_secs(3);
const RUNS: usize = 5;

type Client = ShardDistributorExecutorApiClient<Channel>;

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let shards = EXECUTORS as u64 * LOADS;
    let mut request = fixed("beats", shards, &ids(EXECUTORS));
    // What balance would store is not what heartbeats would.
    request.frozen = true;
    let namespace = laboratory.create(request).await?;
    let clients: Result<Vec<_>> =
        (0..CONNECTIONS).map(|_| Ok(Client::new(channel(&laboratory.url())?))).collect();
    let clients = Arc::new(clients?);
    let grants = namespace.board.revision();
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        let clients = clients.clone();
        let call = move |caller: usize, n: u64| {
            beat(clients[caller % CONNECTIONS].clone(), caller as u64, n)
        };
        rates.push(saturate(CALLERS, SPAN, call).await);
    }
    let written = namespace.board.revision() - grants;
    laboratory.server.stop().await;
    let rate = Repeated::of(rates);
    Ok(vec![Figure {
        name: "heartbeats",
        measured: format!(
            "{:.0} heartbeats with {LOADS} loads each a second, median of {RUNS} runs ({:.0} to {:.0}); {written} revisions of the map meanwhile",
            rate.median, rate.least, rate.most
        ),
        to_reach: "5,000 a second, nothing stored for them",
        reached: rate.median >= 5_000.0,
    }])
}

async fn beat(mut client: Client, executor: u64, n: u64) {
    let ready = go::ShardStatus::Ready.into();
    let report = |k: u64| {
        let shard = executor + k * EXECUTORS as u64;
        let load = ((shard * 31 + n) % 100) as f64;
        (shard.to_string(), go::ShardStatusReport { status: ready, shard_load: load })
    };
    let request = go::HeartbeatRequest {
        namespace: "beats".to_owned(),
        executor_id: format!("host-{executor}"),
        status: go::ExecutorStatus::Active.into(),
        shard_status_reports: (0..LOADS).map(report).collect::<HashMap<_, _>>(),
        ..Default::default()
    };
    let answer = client.heartbeat(request).await;
    let complete = answer.is_ok_and(|it| it.get_ref().shard_assignments.len() == LOADS as usize);
    assert!(complete, "a heartbeat failed or lost a shard");
}
