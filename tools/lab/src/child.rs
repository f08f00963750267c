//! An executor in a process of its own, to be killed.

use anyhow::Result;
use clap::Args;
use plimsoll_client::{BoxError, Executor, Shard, Shards};

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    server: String,
    #[arg(long)]
    namespace: String,
    #[arg(long)]
    id: String,
    #[arg(long)]
    host: String,
}

struct Quiet;

impl Shards for Quiet {
    async fn start(&self, _shard: Shard) -> Result<(), BoxError> {
        Ok(())
    }

    async fn stop(&self, _shard: Shard) {}

    fn load(&self, _shard: &str) -> Option<f64> {
        Some(1.0)
    }
}

/// Runs until it is killed.
pub(crate) async fn run(options: Options) -> Result<()> {
    let builder = Executor::builder(options.namespace, Quiet).connect(options.server);
    let executor = builder.id(options.id).host(options.host).start().await?;
    executor.closed().await;
    Ok(())
}
