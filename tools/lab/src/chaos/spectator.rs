//! A spectator in a process of its own, with open-loop traffic: requests are sent
//! when they are due, whatever became of those before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use futures::future::try_join_all;
use plimsoll_client::{CallError, LookupError, Owner, Spectator};
use plimsoll_telemetry::logging;
use plimsoll_testkit::chaos::Moment;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::time::{MissedTickBehavior, interval};

use super::namespaces::FIXED;
use super::record::{DRAINED, Entry, Log};
use super::wire::{Served, Trouble, ask};

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    servers: String,
    #[arg(long)]
    log: PathBuf,
    /// Requests a second
    #[arg(long)]
    rate: u32,
    #[arg(long)]
    seed: u64,
}

struct Caller {
    spectators: Vec<Spectator>,
    log: Log,
}

/// Runs until it is killed.
pub(crate) async fn run(options: Options) -> Result<()> {
    logging::init(logging::Format::Text, "info")?;
    let connect = |(name, _): &(&'static str, u64)| Spectator::connect(&options.servers, *name);
    let spectators = try_join_all(FIXED.iter().map(connect)).await?;
    let caller = Arc::new(Caller { spectators, log: Log::open(&options.log)? });
    let mut random = Pcg64Mcg::seed_from_u64(options.seed);
    let mut due = interval(Duration::from_secs(1) / options.rate);
    due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        due.tick().await;
        let namespace = random.random_range(0..FIXED.len());
        let key = random.random_range(0..FIXED[namespace].1);
        tokio::spawn(caller.clone().request(namespace, key.to_string()));
    }
}

impl Caller {
    async fn request(self: Arc<Self>, namespace: usize, key: String) {
        let due = Moment::now();
        let shard = format!("{}/{key}", FIXED[namespace].0);
        let send = |owner: Owner| send(owner, shard.clone());
        let served = self.spectators[namespace].call(&key, send).await;
        self.log.append(&match served {
            Ok(Served { executor, generation, from, to }) => {
                Entry::Answered { due, shard, executor, generation, from, to }
            }
            Err(error) => Entry::Lost { due, shard, cause: cause(&error) },
        });
    }
}

async fn send(owner: Owner, shard: String) -> Result<Served, Trouble> {
    let address = owner.address().and_then(|address| address.parse().ok());
    ask(address.ok_or(Trouble::Refused)?, &shard).await
}

/// In words that do not name the shard, to be counted.
fn cause(error: &CallError<Trouble>) -> String {
    match error {
        CallError::Failed(trouble) => trouble.to_string(),
        CallError::Lookup(LookupError::Drained { .. }) => DRAINED.to_owned(),
        CallError::Lookup(_) => "no owner".to_owned(),
        CallError::GaveUp { last: Some(trouble), .. } => format!("held in vain: {trouble}"),
        CallError::GaveUp { last: None, .. } => "held in vain".to_owned(),
        CallError::Full { .. } => "too many are held".to_owned(),
    }
}
