//! A router: takes the shard key from each request and sends the request to the
//! owner of the shard. It runs no shard itself; any number of routers may stand
//! side by side.

mod proxy;

use anyhow::{Context, Result};
use clap::Parser;
use plimsoll_client::Spectator;
use proxy::Keys;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Sends HTTP requests to the owners of their shards.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// The Plimsoll servers, with commas between
    #[arg(long, default_value = "http://127.0.0.1:7943")]
    server: String,
    #[arg(long, default_value = "counters")]
    namespace: String,
    /// The part of the path that is the key: 2 is "a" in /counters/a/history
    #[arg(long, default_value_t = 2)]
    segment: usize,
    /// A header that is the key, if a request has it
    #[arg(long, default_value = "x-shard-key")]
    header: String,
    /// The number of shards of a fixed namespace. Without it the namespace is
    /// ephemeral and the key itself is the shard
    #[arg(long)]
    shards: Option<u32>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    run(Args::parse()).await
}

async fn run(args: Args) -> Result<()> {
    let spectator = Spectator::connect(&args.server, &args.namespace).await?;
    let listener = TcpListener::bind(&args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = listener.local_addr()?;
    tracing::info!(%address, shards = spectator.len(), "routing");
    let keys = Keys { header: args.header, segment: args.segment, shards: args.shards };
    tokio::select! {
        served = axum::serve(listener, proxy::service(spectator, keys)).into_future() => served?,
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(())
}
