//! Orders as an operator gives them: to whichever server answers.

use std::time::Duration;

use anyhow::{Result, bail};
use plimsoll_testkit::chaos::Moment;
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::v1;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::transport::Channel;

use super::addresses::{End, Net, SERVERS};
use super::oracle::Drained;
use crate::setup;

const ONE_TRY: Duration = Duration::from_secs(3);
const GIVES_UP_AFTER: Duration = Duration::from_secs(20);
const AGAIN_AFTER: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Operator {
    channels: Vec<Channel>,
}

type Admin = v1::admin_service_client::AdminServiceClient<Channel>;
type Go = ShardDistributorApiClient<Channel>;

impl Operator {
    /// On the servers' own addresses: an operator's link is not cut.
    pub(super) fn new(net: Net) -> Result<Self> {
        let channel = |n| setup::channel(&format!("http://{}", net.of(End::Server(n))));
        Ok(Self { channels: (0..SERVERS).map(channel).collect::<Result<_>>()? })
    }

    pub(super) async fn drain_shard(&self, namespace: &str, shard: &str) -> Result<()> {
        let request = v1::DrainShardsRequest {
            namespace: namespace.to_owned(),
            shard_keys: vec![shard.to_owned()],
            reason: "chaos".to_owned(),
            drained_by: "lab".to_owned(),
        };
        self.until_done(|channel| {
            let request = request.clone();
            async move { Admin::new(channel).drain_shards(request).await.map(drop) }
        })
        .await
    }

    pub(super) async fn drain_host(&self, namespace: &str, host: &str) -> Result<()> {
        let host = go::DrainedHost { hostname: host.to_owned(), ..go::DrainedHost::default() };
        let request = go::DrainHostsRequest { namespace: namespace.to_owned(), hosts: vec![host] };
        self.until_done(|channel| {
            let request = request.clone();
            async move { Go::new(channel).drain_hosts(request).await.map(drop) }
        })
        .await
    }

    pub(super) async fn lift(&self, drained: &Drained) -> Result<()> {
        match drained {
            Drained::Shard(shard) => {
                let (namespace, key) = shard.split_once('/').unwrap_or(("", shard));
                self.undrain_shard(namespace, key).await
            }
            Drained::Host { namespace, host } => self.undrain_host(namespace, host).await,
        }
    }

    async fn undrain_shard(&self, namespace: &str, shard: &str) -> Result<()> {
        let request = v1::UndrainShardsRequest {
            namespace: namespace.to_owned(),
            shard_keys: vec![shard.to_owned()],
        };
        self.until_done(|channel| {
            let request = request.clone();
            async move { Admin::new(channel).undrain_shards(request).await.map(drop) }
        })
        .await
    }

    async fn undrain_host(&self, namespace: &str, host: &str) -> Result<()> {
        let request = go::UndrainHostsRequest {
            namespace: namespace.to_owned(),
            hostnames: vec![host.to_owned()],
        };
        self.until_done(|channel| {
            let request = request.clone();
            async move { Go::new(channel).undrain_hosts(request).await.map(drop) }
        })
        .await
    }

    /// By one server after the other; an order may be given twice.
    async fn until_done<F>(&self, order: impl Fn(Channel) -> F) -> Result<()>
    where
        F: Future<Output = Result<(), Status>>,
    {
        let (begun, mut last) = (Moment::now(), "no answer".to_owned());
        for channel in self.channels.iter().cycle() {
            match timeout(ONE_TRY, order(channel.clone())).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(status)) => last = status.message().to_owned(),
                Err(_) => "no answer".clone_into(&mut last),
            }
            if begun.elapsed() > GIVES_UP_AFTER {
                break;
            }
            sleep(AGAIN_AFTER).await;
        }
        bail!("no server carries out an order: {last}")
    }
}
