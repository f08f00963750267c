//! A running proxy: its ports, its stack, and its end.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use plimsoll_qalm::QalmLayer;
use plimsoll_qalm::layer::DebugService;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower_layer::Layer;

use crate::admin::{self, Admin};
use crate::drain::{Drain, Drained};
use crate::forward::Forward;
use crate::metrics::Metrics;
use crate::serve::{Acceptor, Stack};
use crate::settings::{self, DrainSettings, Settings};

/// A proxy whose ports are taken, before it serves.
#[derive(Debug)]
pub struct Bound {
    settings: Settings,
    metrics: Metrics,
    requests: TcpListener,
    admin: Option<TcpListener>,
    drain: Drain,
}

/// A proxy that serves.
#[derive(Debug)]
pub struct Proxy {
    /// Where requests are taken.
    pub listen: SocketAddr,
    /// Where metrics are, if anywhere.
    pub metrics: Option<SocketAddr>,
    drain: Drain,
    how: DrainSettings,
    leaving: CancellationToken,
    /// Ends the other port, last.
    closing: CancellationToken,
    acceptor: JoinHandle<()>,
}

/// Why a proxy could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error(
        "cannot listen on {address} for {what}: {source}; \
         see what has the port with ss -ltnp, or take another"
    )]
    Listen { address: SocketAddr, what: &'static str, source: io::Error },
}

// === impl Bound ===

impl Bound {
    /// Takes the ports.
    ///
    /// # Errors
    /// The settings cannot be used, or a port is taken.
    pub async fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let requests = listen(settings.listen, "requests").await?;
        let admin = match settings.metrics {
            Some(address) => Some(listen(address, "metrics").await?),
            None => None,
        };
        let (metrics, drain) = (Metrics::default(), Drain::default());
        Ok(Self { settings, metrics, requests, admin, drain })
    }

    /// The figures of this proxy, where layers can put theirs.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The service that passes requests on, to put layers around.
    pub fn forward(&self) -> Forward {
        let (cut, tasks) = (self.drain.cut(), self.drain.tasks().clone());
        Forward::new(&self.settings, &self.metrics, cut, tasks)
    }

    /// Serves with QALM in front of the service. `layer` has its figures and its
    /// page on the other port.
    ///
    /// # Errors
    /// A port is gone again.
    pub fn serve_shedding(self, layer: QalmLayer) -> Result<Proxy, Error> {
        layer.register(&mut self.metrics.registry().lock());
        let stack = layer.layer(self.forward());
        let (debug, cut) = (layer.debug(), self.drain.cut());
        tokio::spawn(async move {
            cut.cancelled().await;
            // Who still waits in a queue is told so.
            layer.shut_down();
        });
        self.serve(stack, Some(debug))
    }

    /// Serves `stack`, with a debug page if it has one.
    ///
    /// # Errors
    /// A port is gone again.
    pub fn serve<S: Stack>(self, stack: S, debug: Option<DebugService>) -> Result<Proxy, Error> {
        let listen = address(&self.requests, self.settings.listen, "requests")?;
        let (leaving, closing) = (CancellationToken::new(), CancellationToken::new());
        let mut metrics = None;
        if let (Some(port), Some(asked)) = (self.admin, self.settings.metrics) {
            metrics = Some(address(&port, asked, "metrics")?);
            let admin = Admin { metrics: self.metrics.clone(), leaving: leaving.clone() };
            serve_admin(port, admin::router(admin, debug), closing.clone());
        }
        let drain = self.drain;
        let acceptor = Acceptor::new(self.requests, &self.settings, &self.metrics, drain.clone());
        let acceptor = tokio::spawn(acceptor.run(stack));
        let how = self.settings.drain;
        Ok(Proxy { listen, metrics, drain, how, leaving, closing, acceptor })
    }
}

// === impl Proxy ===

impl Proxy {
    /// Leaves: says so, waits, takes no more connections, lets what is in progress
    /// end, and after the deadline ends it. `hurry` makes the deadline now.
    pub async fn stop(self, hurry: impl Future<Output = ()>) -> Drained {
        let mut hurry = std::pin::pin!(hurry);
        self.leaving.cancel();
        let delayed = tokio::select! {
            () = tokio::time::sleep(self.how.delay) => true,
            () = &mut hurry => false,
        };
        let drained = if delayed {
            self.drain.run(self.how.deadline, hurry).await
        } else {
            self.drain.run(std::time::Duration::ZERO, std::future::pending()).await
        };
        // It has seen the drain begin; only a panic of its own could be told here.
        drop(self.acceptor.await);
        self.closing.cancel();
        drained
    }
}

async fn listen(address: SocketAddr, what: &'static str) -> Result<TcpListener, Error> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| Error::Listen { address, what, source })
}

fn address(
    listener: &TcpListener,
    asked: SocketAddr,
    what: &'static str,
) -> Result<SocketAddr, Error> {
    listener.local_addr().map_err(|source| Error::Listen { address: asked, what, source })
}

fn serve_admin(port: TcpListener, routes: Router, closing: CancellationToken) {
    let serving = axum::serve(port, routes);
    let serving = serving.with_graceful_shutdown(async move { closing.cancelled().await });
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the port of metrics has failed");
        }
    });
}
