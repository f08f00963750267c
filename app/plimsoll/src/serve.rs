//! `plimsoll server`: configuration, logging, the server, signals.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use plimsoll_server::config::{Error as ConfigError, StoreKind};
use plimsoll_server::{Config, Server};
use tokio::signal::unix::{SignalKind, signal};

/// Flags win over variables, variables over the file, the file over defaults.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Configuration file; see docs/configure.md
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_CONFIG")]
    config: Option<PathBuf>,
    /// Where state is kept
    #[arg(long)]
    store: Option<Kept>,
    /// Folder of the file store [default: ./plimsoll-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kept {
    File,
    Memory,
}

pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let config = configuration(options)?;
    let format = config.log.format.parse()?;
    plimsoll_telemetry::logging::init(format, &config.log.filter)?;
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(serve(&config))
}

fn configuration(options: Options) -> Result<Config> {
    let file = options.config.as_deref().map(read).transpose()?;
    let file = file.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    let mut config = Config::load(file, std::env::vars())?;
    if let Some(store) = options.store {
        config.store = match store {
            Kept::File => StoreKind::File,
            Kept::Memory => StoreKind::Memory,
        };
    }
    config.data_dir = options.data_dir.unwrap_or(config.data_dir);
    config.grpc.listen = options.grpc.unwrap_or(config.grpc.listen);
    config.http.listen = options.http.unwrap_or(config.http.listen);
    config.allow_open |= options.allow_open;
    Ok(config)
}

fn read(path: &Path) -> Result<(String, String), ConfigError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text)),
        Err(source) => Err(ConfigError::Read { path: name, source }),
    }
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
