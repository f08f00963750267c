//! `plimsoll server`: configuration, logging, the server, signals.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use plimsoll_server::{Config, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::kept::put;

/// Flags win over variables, variables over the file, the file over defaults.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    kept: crate::kept::StoreOptions,
    /// How other servers reach this one's gRPC port [default: as it listens]
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// gRPC address [default: 127.0.0.1:7943]
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<String>,
    /// HTTP address [default: 127.0.0.1:7944]
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Listen beyond loopback without client certificates
    #[arg(long)]
    allow_open: bool,
}

pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let config = configuration(options)?;
    let format = config.log.format.parse()?;
    plimsoll_telemetry::logging::init(format, &config.log.filter)?;
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(serve(&config))
}

fn configuration(options: Options) -> Result<Config> {
    let mut config = options.kept.configuration()?;
    put(&mut config.advertise, options.advertise);
    put(&mut config.grpc.listen, options.grpc);
    put(&mut config.http.listen, options.http);
    config.allow_open |= options.allow_open;
    Ok(config)
}

async fn serve(config: &Config) -> Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let server = Server::start(config).await?;
    tracing::info!(grpc = %server.grpc, http = %server.http, store = ?config.store, "serving");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    tracing::info!("leaving");
    server.stop().await;
    Ok(ExitCode::SUCCESS)
}
