//! Prices over gRPC, from an exchange that can be overloaded: see how the least
//! important callers are turned away first.

mod quotes;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use clap::Parser;
use plimsoll_qalm::QalmLayer;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tracing_subscriber::EnvFilter;

use quotes::{Exchange, wire};

/// Serves quotes.v1.Quotes with health and reflection; /metrics and /debug/qalm on
/// the other port show what QALM does.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// For people and Prometheus
    #[arg(long, default_value = "127.0.0.1:9091")]
    admin: SocketAddr,
    /// A policy, followed while it runs; without one the defaults protect
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Lines to the exchange: how many prices are asked for at once
    #[arg(long, default_value_t = 16)]
    lines: u16,
}

#[tokio::main]
async fn main() -> Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    let args = Args::parse();
    let qalm = match &args.policy {
        Some(path) => QalmLayer::from_file(path)?,
        None => QalmLayer::new(),
    };
    let admin = TcpListener::bind(args.admin)
        .await
        .with_context(|| format!("cannot listen on {}", args.admin))?;
    tokio::spawn(axum::serve(admin, pages(&qalm)).into_future());
    tracing::info!(listen = %args.listen, admin = %args.admin, lines = args.lines, "quoting");
    serve(args.listen, args.lines, qalm).await
}

async fn serve(listen: SocketAddr, lines: u16, qalm: QalmLayer) -> Result<()> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<wire::quotes_server::QuotesServer<Exchange>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(quotes::DESCRIPTORS)
        .build_v1()?;
    Server::builder()
        .initial_connection_window_size(16 << 20)
        .layer(qalm)
        .add_service(wire::quotes_server::QuotesServer::new(Exchange::new(lines)))
        .add_service(health)
        .add_service(reflection)
        .serve(listen)
        .await
        .with_context(|| format!("cannot serve on {listen}"))
}

fn pages(qalm: &QalmLayer) -> Router {
    let mut registry = Registry::default();
    qalm.register(&mut registry);
    let registry = Arc::new(registry);
    Router::new()
        .route("/metrics", get(async move || metrics(&registry)))
        .route_service("/debug/qalm", qalm.debug())
}

fn metrics(registry: &Registry) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut page, registry);
    page
}
