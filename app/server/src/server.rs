//! The server as a whole: opens the store, listens, and goes in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_store::{Error as StoreError, FileStore, MemoryStore, Options, Store};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::TcpIncoming;

use crate::clock::Clock;
use crate::config::{Config, Error as ConfigError, StoreKind, check_exposure};
use crate::grpc::Services;
use crate::metrics::Metrics;
use crate::namespaces::{Error as NamespaceError, Namespaces};

/// How long connections may take to end once every stream has been told.
const GRACE: Duration = Duration::from_millis(400);
/// Connections that may wait to be accepted: after an outage everybody comes at
/// once, and one that is dropped tries again a second later.
const BACKLOG: u32 = 4096;
/// Pages of the store in memory: it is read once, at the start, and each shard
/// may cost the server only so much.
const STORE_CACHE: usize = 16 * 1024 * 1024;
/// Unread small frames count against the connection's window: see h2's limits.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
const STREAM_WINDOW: u32 = 1024 * 1024;
/// A peer that does not answer a ping within this is gone.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
const PING_EVERY: Duration = Duration::from_secs(10);

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Tls(#[from] crate::tls::Error),
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("TLS was refused: {0}; check tls.certificate and tls.key")]
    Certificate(#[source] tonic::transport::Error),
    #[error("reflection is broken in this build: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    pub grpc: SocketAddr,
    pub http: SocketAddr,
    pub namespaces: Arc<Namespaces>,
    pub metrics: Metrics,
    shutdown: CancellationToken,
    ports: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the store, restores every namespace, creates those that the
    /// configuration names, and listens.
    ///
    /// # Errors
    /// Whatever keeps it from serving, with what to do about it.
    pub async fn start(config: &Config) -> Result<Self, Error> {
        let (grpc, http) = check_exposure(config)?;
        // Before the store is touched: a second server must not get that far.
        let (grpc, http) = (listen(grpc)?, listen(http)?);
        let remembers = is_there_already(config);
        let store = open_store(config)?;
        let metrics = Metrics::new();
        let clock = Clock::start();
        let namespaces = Arc::new(Namespaces::new(store, remembers, clock, metrics.clone()));
        namespaces.open_all().await?;
        for namespace in &config.namespaces {
            namespaces.ensure(&namespace.into()).await?;
        }
        let shutdown = CancellationToken::new();
        let services = Services {
            namespaces: namespaces.clone(),
            metrics: metrics.clone(),
            shutdown: shutdown.clone(),
        };
        let (grpc, grpc_port) = serve_grpc(config, grpc, &services).await?;
        let (http, http_port) = serve_http(http, services);
        let ports = vec![grpc_port, http_port];
        Ok(Self { grpc, http, namespaces, metrics, shutdown, ports })
    }

    /// Hands over and ends: sessions are told to go elsewhere, streams end, and
    /// what is still open after a moment is cut.
    pub async fn stop(self) {
        self.shutdown.cancel();
        self.namespaces.close().await;
        let ended = futures::future::join_all(self.ports);
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::debug!("connections were still open and have been cut");
        }
    }
}

/// Whether there is a store from before this start. If not, this may be the
/// first start of all, or the data may have been lost: nobody can tell.
fn is_there_already(config: &Config) -> bool {
    let file = plimsoll_store::FileStore::path_in(&config.data_dir);
    config.store == StoreKind::File && std::fs::metadata(file).is_ok_and(|it| it.len() > 0)
}

fn open_store(config: &Config) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match config.store {
        StoreKind::Memory => Arc::new(MemoryStore::new()),
        StoreKind::File => {
            let options = Options { cache_bytes: STORE_CACHE };
            Arc::new(FileStore::open_with(&config.data_dir, &options)?)
        }
    })
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|source| Error::Listen { address, source })
}

async fn serve_grpc(
    config: &Config,
    listener: TcpListener,
    services: &Services,
) -> Result<(SocketAddr, JoinHandle<()>), Error> {
    let address = bound(&listener);
    let mut builder = GrpcServer::builder()
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_stream_window_size(STREAM_WINDOW)
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_TIMEOUT));
    if let Some(tls) = crate::tls::server_tls(&config.tls)? {
        builder = builder.tls_config(tls).map_err(Error::Certificate)?;
    }
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let (routes, end) = (services.routes().await?, services.shutdown.clone());
    let serve =
        builder.add_routes(routes).serve_with_incoming_shutdown(incoming, end.cancelled_owned());
    Ok((address, tokio::spawn(log_end("gRPC", serve))))
}

fn serve_http(listener: TcpListener, services: Services) -> (SocketAddr, JoinHandle<()>) {
    let address = bound(&listener);
    let end = services.shutdown.clone();
    let router = crate::http::router(services);
    let serve = axum::serve(listener, router).with_graceful_shutdown(end.cancelled_owned());
    (address, tokio::spawn(log_end("HTTP", serve.into_future())))
}

/// A listener that was bound has an address.
fn bound(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)))
}

async fn log_end<E: std::fmt::Display>(
    port: &'static str,
    serve: impl Future<Output = Result<(), E>>,
) {
    if let Err(error) = serve.await {
        tracing::error!(port, %error, "port closed");
    }
}
