//! A restaurant's menu over HTTP, with a kitchen that can be overloaded: see how
//! the least important guests are turned away first.

mod kitchen;

use std::path::PathBuf;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use clap::Parser;
use kitchen::Kitchen;
use plimsoll_qalm::{PolicyServer, QalmLayer};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Serves GET /menu/{item}, POST /orders and GET /suggestions; /metrics and
/// /debug/qalm show what QALM does.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// A policy, followed while it runs; without one the defaults protect
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Servers that have the policy of the service "menu"; --policy holds until one has
    /// sent it
    #[arg(long, value_name = "ADDRESSES")]
    policy_server: Option<String>,
    /// Where the server's last policy is kept
    #[arg(long, value_name = "FILE", requires = "policy_server")]
    policy_keep: Option<PathBuf>,
    /// Cooks: how many dishes are made at once
    #[arg(long, default_value_t = 16)]
    cooks: u16,
}

#[tokio::main]
async fn main() -> Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    let args = Args::parse();
    let qalm = args.qalm()?;
    let listener = TcpListener::bind(&args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    tracing::info!(listen = args.listen, cooks = args.cooks, "the kitchen is open");
    axum::serve(listener, app(Kitchen::new(args.cooks), &qalm)).await?;
    Ok(())
}

impl Args {
    fn qalm(&self) -> Result<QalmLayer> {
        let Some(servers) = &self.policy_server else {
            return Ok(match &self.policy {
                Some(path) => QalmLayer::from_file(path)?,
                None => QalmLayer::new(),
            });
        };
        let mut server = PolicyServer::new(servers, "menu").version(env!("CARGO_PKG_VERSION"));
        if let Some(path) = &self.policy {
            server = server.file(path);
        }
        if let Some(path) = &self.policy_keep {
            server = server.keep(path);
        }
        Ok(QalmLayer::builder().build_from_server(server)?)
    }
}

/// Routes added after the layer are not behind it.
fn app(kitchen: Kitchen, qalm: &QalmLayer) -> Router {
    let mut registry = Registry::default();
    qalm.register(&mut registry);
    let registry = std::sync::Arc::new(registry);
    Router::new()
        .route("/menu/{item}", get(item))
        .route("/orders", post(order))
        .route("/suggestions", get(suggestions))
        .with_state(kitchen)
        .layer(qalm.clone())
        .route("/metrics", get(async move || metrics(&registry)))
        .route_service("/debug/qalm", qalm.debug())
}

async fn item(State(kitchen): State<Kitchen>, Path(item): Path<String>) -> String {
    kitchen.work(5).await;
    format!("{item}: today with bread\n")
}

async fn order(State(kitchen): State<Kitchen>) -> &'static str {
    kitchen.work(10).await;
    "ordered\n"
}

async fn suggestions(State(kitchen): State<Kitchen>) -> &'static str {
    kitchen.work(10).await;
    "the soup\n"
}

fn metrics(registry: &Registry) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut page, registry);
    page
}
