//! The server as a whole: opens the store, listens, and goes in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use plimsoll_store::{
    Error as StoreError, EtcdOptions, EtcdStore, FileStore, MemoryStore, Options, Store,
};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::TcpIncoming;
use tower_layer::Layer;

use crate::clock::Clock;
use crate::config::{Config, Error as ConfigError, StoreKind, check_exposure};
use crate::election::{About, Elector};
use crate::forward::{ForwardLayer, Forwarder, Local};
use crate::grpc::Services;
use crate::http::Guard;
use crate::leadership::Servers;
use crate::metrics::Metrics;
use crate::namespaces::{Error as NamespaceError, Namespaces};
use crate::peers::Peers;
use crate::policies::Policies;

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
    /// `None`: it is alone.
    pub servers: Option<Arc<Servers>>,
    shutdown: CancellationToken,
    ports: Vec<JoinHandle<()>>,
}

/// Where records are kept, and the elections that go with it.
struct Kept {
    store: Arc<dyn Store>,
    /// Whether it can be trusted to know every namespace there was.
    remembers: bool,
    elector: Option<Arc<Elector>>,
}

impl Server {
    /// Opens the store, restores every namespace, creates those that the
    /// configuration names, and listens.
    ///
    /// # Errors
    /// Whatever keeps it from serving, with what to do about it.
    pub async fn start(config: &Config) -> Result<Self, Error> {
        // Boxed: much is done once, and every caller's future would carry it all.
        Box::pin(Self::assemble(config)).await
    }

    async fn assemble(config: &Config) -> Result<Self, Error> {
        let (grpc, http) = check_exposure(config)?;
        // Before the store is touched: a second server must not get that far.
        let (grpc, http) = (listen(grpc)?, listen(http)?);
        let clock = Clock::start();
        let kept = open(config, clock, bound(&grpc)).await?;
        let metrics = Metrics::new();
        let elector = kept.elector.clone();
        let (store, remembers) = (kept.store, kept.remembers);
        let namespaces = Arc::new(Namespaces::new(
            store.clone(),
            remembers,
            clock,
            metrics.clone(),
            elector.clone(),
        ));
        match &elector {
            None => namespaces.open_all().await?,
            Some(_) => namespaces.sync().await?,
        }
        for namespace in &config.namespaces {
            namespaces.ensure(&namespace.into()).await?;
        }
        let among_others = elector.is_some().then(|| crate::tls::client_tls(&config.tls));
        let peers = Arc::new(Peers::new(among_others.transpose()?.flatten()));
        let servers = elector.map(|elector| {
            Servers::start(elector, peers, namespaces.clone(), clock, metrics.clone())
        });
        let shutdown = CancellationToken::new();
        let policies = Policies::start(
            store,
            clock,
            metrics.policies.clone(),
            config.policies.max_instances,
            servers.clone(),
            &shutdown,
        );
        let services = Services {
            namespaces: namespaces.clone(),
            policies,
            servers: servers.clone(),
            clock,
            metrics: metrics.clone(),
            shutdown: shutdown.clone(),
        };
        let (routes, forward) = (services.routes().await?, ForwardLayer(forwarder(&services)));
        let local = forward.layer(routes.clone());
        let console = console(config, local.clone(), shutdown.clone());
        let end = shutdown.clone();
        let (grpc, grpc_port) = serve_grpc(config, grpc, routes, forward, end)?;
        let guard = Guard { orders: config.console_orders(), names: config.console_names() };
        let pages = crate::http::router(services, local, guard).merge(console);
        let (http, http_port) = serve_http(http, pages, shutdown.clone());
        let ports = vec![grpc_port, http_port];
        Ok(Self { grpc, http, namespaces, metrics, servers, shutdown, ports })
    }

    /// Hands over and ends: leaderships go to other servers with all that is known,
    /// sessions are told to go elsewhere, streams end, and what is still open after a
    /// moment is cut.
    pub async fn stop(self) {
        if let Some(servers) = &self.servers {
            servers.leave().await;
        }
        self.shutdown.cancel();
        self.namespaces.close().await;
        if let Some(servers) = &self.servers {
            servers.left().await;
        }
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

/// The store of a configuration, for whoever wants its records and does not serve.
///
/// # Errors
/// It cannot be opened, with what to do about it.
pub async fn open_store(config: &Config) -> Result<Arc<dyn Store>, Error> {
    match config.etcd_options()? {
        Some(etcd) => Ok(Arc::new(connect(&etcd).await?)),
        None => open_alone(config),
    }
}

async fn open(config: &Config, clock: Clock, grpc: SocketAddr) -> Result<Kept, Error> {
    match config.etcd_options()? {
        Some(etcd) => open_among_others(&etcd, &config.advertised(grpc)?, clock).await,
        None => {
            let remembers = is_there_already(config);
            Ok(Kept { store: open_alone(config)?, remembers, elector: None })
        }
    }
}

fn open_alone(config: &Config) -> Result<Arc<dyn Store>, Error> {
    Ok(match config.store {
        StoreKind::Memory => Arc::new(MemoryStore::new()),
        StoreKind::File | StoreKind::Etcd => {
            let options = Options { cache_bytes: STORE_CACHE };
            Arc::new(FileStore::open_with(&config.data_dir, &options)?)
        }
    })
}

async fn open_among_others(etcd: &EtcdOptions, address: &str, clock: Clock) -> Result<Kept, Error> {
    let store = Arc::new(connect(etcd).await?);
    let remembers = !store.namespaces().await?.is_empty();
    let elector = Elector::join(store.clone(), clock, About::new(address)).await;
    let elector = Some(Arc::new(elector.map_err(StoreError::from)?));
    Ok(Kept { store, remembers, elector })
}

async fn connect(etcd: &EtcdOptions) -> Result<EtcdStore, StoreError> {
    Ok(EtcdStore::connect(etcd).await?)
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

/// The console, which asks the services as any client does.
fn console(config: &Config, local: Local, shutdown: CancellationToken) -> Router {
    let options = plimsoll_console::Options {
        index: crate::http::INDEX,
        orders: config.console_orders(),
        names: config.console_names(),
        shutdown,
    };
    plimsoll_console::router(plimsoll_console::Wire::new(local), options)
}

fn serve_grpc(
    config: &Config,
    listener: TcpListener,
    routes: Routes,
    forward: ForwardLayer,
    end: CancellationToken,
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
    let serve = builder
        .layer(forward)
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, end.cancelled_owned());
    Ok((address, tokio::spawn(log_end("gRPC", serve))))
}

fn forwarder(services: &Services) -> Option<Arc<Forwarder>> {
    let servers = services.servers.as_ref()?;
    let (elector, peers) = (servers.elector.clone(), servers.peers.clone());
    let namespaces = services.namespaces.clone();
    Some(Arc::new(Forwarder::new(elector, namespaces, peers, services.metrics.clone())))
}

fn serve_http(
    listener: TcpListener,
    router: Router,
    end: CancellationToken,
) -> (SocketAddr, JoinHandle<()>) {
    let address = bound(&listener);
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
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
