//! GetShardOwner on a namespace of 100,000 shards.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_server::config::StoreKind;
use plimsoll_wire::sharddistributor::GetShardOwnerRequest;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use tonic::transport::Channel;

use super::Figure;
use crate::measure::{Latencies, Repeated, offer, saturate};
use crate::setup::{Laboratory, channel, fixed, ids};

const SHARDS: u64 = 100_000;
const CONNECTIONS: usize = 4;
const CALLERS: usize = 256;
const SPAN: Duration = Duration::from_secs(3);
const RUNS: usize = 5;

type Client = ShardDistributorApiClient<Channel>;

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let mut request = fixed("lookup", SHARDS, &ids(100));
    // Nobody beats here: the owners must not be called dead meanwhile.
    request.settings.insert("heartbeat_ttl".to_owned(), "1h".to_owned());
    laboratory.create(request).await?;
    let clients: Result<Vec<_>> =
        (0..CONNECTIONS).map(|_| Ok(Client::new(channel(&laboratory.url())?))).collect();
    let clients = Arc::new(clients?);
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        let clients = clients.clone();
        let call = move |caller: usize, n: u64| {
            look_up(clients[caller % CONNECTIONS].clone(), caller as u64 * 7919 + n)
        };
        rates.push(saturate(CALLERS, SPAN, call).await);
    }
    let rate = Repeated::of(rates);
    let latencies = Latencies::new();
    let call = move |n: u64| look_up(clients[n as usize % CONNECTIONS].clone(), n * 7919);
    let reached = offer(17_500.0, SPAN, &latencies, call).await;
    laboratory.server.stop().await;
    let at_half = latencies.percentiles();
    Ok(vec![
        Figure {
            name: "lookup",
            measured: format!(
                "{:.0} GetShardOwner a second, median of {RUNS} runs ({:.0} to {:.0}), {CALLERS} callers on {CONNECTIONS} connections",
                rate.median, rate.least, rate.most
            ),
            to_reach: "35,000 a second",
            reached: rate.median >= 35_000.0,
        },
        Figure {
            name: "lookup",
            measured: format!(
                "p50 {:.2} ms, p99 {:.2} ms at {reached:.0} a second offered open-loop",
                at_half.p50_ms, at_half.p99_ms
            ),
            to_reach: "p99 under 2 ms at 17,500 a second",
            reached: at_half.p99_ms < 2.0 && reached > 17_000.0,
        },
    ])
}

async fn look_up(mut client: Client, n: u64) {
    let request = GetShardOwnerRequest {
        shard_key: (n % SHARDS).to_string(),
        namespace: "lookup".to_owned(),
    };
    let answer = client.get_shard_owner(request).await;
    assert!(answer.is_ok_and(|it| !it.get_ref().owner.is_empty()), "a lookup failed");
}
