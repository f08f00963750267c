//! The layer: QALM in front of any service that speaks `http`'s types.
//!
//! It never holds back readiness for load: a request that has to wait does so in
//! its own future. It reads no body of a request that is admitted, tells the handler
//! what it has made of the caller's words, and changes nothing in an answer of the
//! handler's.

mod address;
mod answer;
mod body;
mod builder;
mod debug;
mod directory;
mod drain;
mod ending;
mod endpoint;
#[cfg(feature = "policy-sync")]
mod following;
mod future;
mod holds;
mod incoming;
mod metrics;
mod path;
mod protection;
mod recent;
mod registry;
mod source;
mod told;
mod upload;

#[cfg(feature = "policy-file")]
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

pub use answer::ShedStatus;
pub use body::QalmBody;
pub use builder::QalmLayerBuilder;
pub use debug::DebugService;
pub use future::QalmFuture;
#[cfg(feature = "metrics")]
pub(crate) use metrics::FacadeHistograms;
pub use upload::UploadWatch;

use crate::gate::Gate;
#[cfg(feature = "policy-file")]
use crate::policy_file::PolicyFileError;
#[cfg(feature = "policy-sync")]
use crate::policy_server;
use protection::Protection;

/// Puts QALM in front of a service. Clones, and everything that they wrap, share
/// queues, limits and metrics.
#[derive(Clone, Debug)]
pub struct QalmLayer {
    protection: Arc<Protection>,
}

/// A service behind QALM.
#[derive(Clone, Debug)]
pub struct Qalm<S> {
    inner: S,
    protection: Arc<Protection>,
}

impl QalmLayer {
    /// Protects without configuration: a queue for each endpoint, concurrency
    /// found, level 3 for every caller, health and reflection let through.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// The policy of a file, which is followed from then on.
    ///
    /// # Errors
    /// A file that cannot be read, or makes no sense; with its line.
    #[cfg(feature = "policy-file")]
    pub fn from_file(path: impl Into<PathBuf>) -> Result<Self, PolicyFileError> {
        Self::builder().build_from_file(path)
    }

    /// To say more.
    pub fn builder() -> QalmLayerBuilder {
        QalmLayerBuilder::default()
    }

    /// The gate behind the layer.
    pub fn gate(&self) -> &Gate {
        &self.protection.gate
    }

    /// How the service and the server of its policy stand, and tells of each change
    /// from now on; `None`: its policy is not a server's.
    #[cfg(feature = "policy-sync")]
    pub fn policy_server(&self) -> Option<tokio::sync::watch::Receiver<policy_server::Status>> {
        self.protection.policy.subscribe()
    }

    /// A service that shows what is going on, for an internal port.
    pub fn debug(&self) -> DebugService {
        DebugService::new(Arc::clone(&self.protection))
    }

    /// Adds the metrics, `qalm_*`, to a registry, which reads them when it is
    /// scraped.
    #[cfg(feature = "prometheus")]
    pub fn register(&self, registry: &mut prometheus_client::registry::Registry) {
        let collector = metrics::QalmCollector(Arc::clone(&self.protection));
        registry.register_collector(Box::new(collector));
    }

    /// From now on new requests are refused, and those that wait; handlers that
    /// run go on. For the time between a stop signal and the end.
    pub fn shut_down(&self) {
        self.gate().shut_down();
    }
}

impl Default for QalmLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for QalmLayer {
    type Service = Qalm<S>;

    fn layer(&self, inner: S) -> Qalm<S> {
        Qalm { inner, protection: Arc::clone(&self.protection) }
    }
}

impl<S, B, R> Service<Request<B>> for Qalm<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    B: Body + 'static,
    R: Body<Data = Bytes>,
{
    type Response = Response<QalmBody<R>>;
    type Error = S::Error;
    type Future = QalmFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let entry = self.protection.receive(&request);
        QalmFuture::new(entry, request, &mut self.inner)
    }
}

#[cfg(feature = "grpc")]
impl<S: tonic::server::NamedService> tonic::server::NamedService for Qalm<S> {
    const NAME: &'static str = S::NAME;
}
