//! Ephemeral shards made by their first use, kept in the file store.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use plimsoll_server::config::StoreKind;
use plimsoll_wire::sharddistributor::GetShardOwnerRequest;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::v1;
use tokio::sync::mpsc;
use tonic::transport::Channel;

use super::Figure;
use crate::measure::{Latencies, Repeated, offer, saturate};
use crate::setup::{Laboratory, Reporting, channel, executor, ids};

const EXECUTORS: usize = 10;
const CALLERS: usize = 128;
const RATE: f64 = 5_000.0;
const SPAN: Duration = Duration::from_secs(5);
const RUNS: usize = 3;

type Client = ShardDistributorApiClient<Channel>;

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let laboratory = Laboratory::start(StoreKind::File).await?;
    let request = v1::CreateNamespaceRequest {
        name: "creation".to_owned(),
        r#type: "ephemeral".to_owned(),
        ..Default::default()
    };
    let namespace = laboratory.create(request).await?;
    let mut executors = Vec::new();
    let (began, _begun) = mpsc::unbounded_channel();
    for id in ids(EXECUTORS) {
        let reporting = Reporting { clock: namespace.clock, began: began.clone() };
        executors.push(executor(&laboratory.url(), "creation", &id, reporting).await?);
    }
    let client = Arc::new(Client::new(channel(&laboratory.url())?));
    let latencies = Latencies::new();
    let offered = client.clone();
    let call = move |n: u64| create((*offered).clone(), format!("offered-{n}"));
    let reached = offer(RATE, SPAN, &latencies, call).await;
    let mut rates = Vec::new();
    for run in 0..RUNS {
        let client = client.clone();
        let call =
            move |caller: usize, n: u64| create((*client).clone(), format!("{run}-{caller}-{n}"));
        rates.push(saturate(CALLERS, SPAN / 2, call).await);
    }
    let (rate, took) = (Repeated::of(rates), latencies.percentiles());
    drop(executors);
    laboratory.server.stop().await;
    Ok(vec![
        Figure {
            name: "creation",
            measured: format!(
                "p50 {:.2} ms, p99 {:.2} ms at {reached:.0} creations a second offered open-loop, executors running them",
                took.p50_ms, took.p99_ms
            ),
            to_reach: "p99 under 20 ms at 5,000 a second",
            reached: took.p99_ms < 20.0 && reached > 0.97 * RATE,
        },
        Figure {
            name: "creation",
            measured: format!(
                "{:.0} a second at most, median of {RUNS} runs ({:.0} to {:.0}), {CALLERS} callers",
                rate.median, rate.least, rate.most
            ),
            to_reach: "5,000 a second",
            reached: rate.median >= 5_000.0,
        },
    ])
}

async fn create(mut client: Client, shard_key: String) {
    let request = GetShardOwnerRequest { shard_key, namespace: "creation".to_owned() };
    let answer = client.get_shard_owner(request).await;
    assert!(answer.is_ok_and(|it| !it.get_ref().owner.is_empty()), "a creation failed");
}
