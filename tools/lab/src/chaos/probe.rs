//! Asks for new shards all the time, each time by another server, and notes when
//! each was granted: so it shows from when to when nobody grants.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;
use plimsoll_testkit::chaos::Moment;
use plimsoll_wire::v1::LookupRequest;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::Channel;

use super::addresses::{End, Net, SERVERS};
use super::namespaces::CREATED;
use crate::setup;

/// The resolution of what is measured with it.
pub(super) const EVERY: Duration = Duration::from_millis(50);
const GIVES_UP_AFTER: Duration = Duration::from_secs(10);

/// A shard that was asked for, and granted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Granted {
    pub(super) asked: Moment,
    pub(super) granted: Moment,
}

#[derive(Debug)]
pub(super) struct Probe {
    granted: Arc<Mutex<Vec<Granted>>>,
    _asking: AbortOnDropHandle<()>,
}

impl Probe {
    pub(super) fn start(net: Net) -> Result<Self> {
        let channel = |n| setup::channel(&format!("http://{}", net.of(End::Server(n))));
        let channels = (0..SERVERS).map(channel).collect::<Result<Vec<_>>>()?;
        let granted = Arc::new(Mutex::new(Vec::new()));
        let asking = tokio::spawn(ask_in_time(channels, granted.clone()));
        Ok(Self { granted, _asking: AbortOnDropHandle::new(asking) })
    }

    /// Every grant so far.
    pub(super) fn granted(&self) -> Vec<Granted> {
        self.granted.lock().clone()
    }
}

async fn ask_in_time(channels: Vec<Channel>, granted: Arc<Mutex<Vec<Granted>>>) {
    let mut due = interval(EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // No two runs ask for the same, on a store that was kept.
    let first = Moment::now().as_nanos();
    for (n, channel) in (0_u64..).zip(channels.iter().cycle()) {
        due.tick().await;
        tokio::spawn(ask(channel.clone(), format!("{first}-{n}"), granted.clone()));
    }
}

async fn ask(channel: Channel, shard_key: String, granted: Arc<Mutex<Vec<Granted>>>) {
    let asked = Moment::now();
    let request = LookupRequest { namespace: CREATED.to_owned(), shard_key };
    let mut client = RoutingServiceClient::new(channel);
    let answer = timeout(GIVES_UP_AFTER, client.lookup(request)).await;
    if matches!(answer, Ok(Ok(_))) {
        granted.lock().push(Granted { asked, granted: Moment::now() });
    }
}
