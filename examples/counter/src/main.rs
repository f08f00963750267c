//! A counter service on any number of processes. Each runs a part of the counters
//! and forwards requests for the others, so that callers need know nothing of
//! sharding: they ask any process.

mod counters;
mod http;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use counters::{Counters, CountersHere};
use plimsoll_client::{Executor, Spectator};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Longer than a change of the map takes to reach the other processes.
const LINGER: Duration = Duration::from_millis(500);

/// A sharded counter service: GET and POST /counters/{name}.
#[derive(Debug, Parser)]
struct Args {
    /// Where to answer requests; the other processes must reach it
    #[arg(long, default_value = "127.0.0.1:8081")]
    listen: String,
    /// The Plimsoll servers, with commas between
    #[arg(long, default_value = "http://127.0.0.1:7943")]
    server: String,
    #[arg(long, default_value = "counters")]
    namespace: String,
    /// The number of shards of a fixed namespace. Without it the namespace is
    /// ephemeral and every counter is a shard
    #[arg(long)]
    shards: Option<u32>,
    /// The machine that drains name, if not this one's hostname
    #[arg(long)]
    host: Option<String>,
    /// A directory that all processes share: counters survive crashes. Without it
    /// they survive moves only, since the owner hands them to the next
    #[arg(long)]
    data: Option<PathBuf>,
    /// A name of this process that is the same after a restart: its counters come
    /// back to it, and are kept for it for the namespace's restart_grace. Without
    /// it they go to others
    #[arg(long)]
    id: Option<String>,
    /// Which version of the program this says it is: while there are several,
    /// counters that move go to the one that came last
    #[arg(long)]
    version_label: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    run(Args::parse()).await
}

async fn run(args: Args) -> Result<()> {
    let listener = TcpListener::bind(&args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let address = format!("http://{}", listener.local_addr()?);
    let counters = Arc::new(Counters::new(args.data)?);

    let mut executor = Executor::builder(&args.namespace, CountersHere(Arc::clone(&counters)))
        .connect(&args.server)
        .address(&address);
    if let Some(host) = args.host {
        executor = executor.host(host);
    }
    if let Some(id) = args.id {
        executor = executor.id(id).returning(true);
    }
    if let Some(version) = args.version_label {
        executor = executor.version(version);
    }
    let executor = executor.start().await?;
    let spectator = Spectator::connect(&args.server, &args.namespace).await?;

    tracing::info!(address, executor = executor.id(), "counting");
    let service = http::service(executor.clone(), spectator, counters, args.shards);
    let over = async move {
        told_to_stop().await;
        hand_over(&executor).await;
    };
    axum::serve(listener, service).with_graceful_shutdown(over).await?;
    Ok(())
}

async fn told_to_stop() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => drop(terminate.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

/// Requests are still answered meanwhile, and a little longer: who has not heard
/// of the new owners yet is told that this process is none.
async fn hand_over(executor: &Executor) {
    match executor.shutdown().await {
        Ok(()) => tracing::info!("handed over"),
        Err(error) => tracing::warn!(%error, "not everything was handed over"),
    }
    tokio::time::sleep(LINGER).await;
}
