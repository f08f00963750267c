//! QALM for Rust services: sheds the least critical requests first, with no change
//! to the handlers.
//!
//! One line protects a service, without configuration: each endpoint gets a queue,
//! how many handlers may run at once is found, callers that nobody has described
//! are at level 3, health checks and reflection pass.
//!
//! # axum
//!
//! ```no_run
//! # #[cfg(feature = "axum")]
//! # async fn example() -> std::io::Result<()> {
//! use axum::{Router, routing::get};
//! use plimsoll_qalm::QalmLayer;
//!
//! let qalm = QalmLayer::new();
//! let app = Router::new()
//!     .route("/menu/{item}", get(|| async { "soup" }))
//!     .layer(qalm.clone()) // the line
//!     .route_service("/debug/qalm", qalm.debug()); // on an internal port, please
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! axum::serve(listener, app).await
//! # }
//! ```
//!
//! `Router::layer` sees which route was matched, and each route is an endpoint. A
//! layer around the whole router sees only paths: those that a policy describes are
//! told apart by its patterns, others with their identifiers masked once they have
//! answered, and paths that somebody makes up share one queue.
//!
//! # tonic
//!
//! ```no_run
//! # #[cfg(feature = "grpc")]
//! # async fn example<S>(quotes: S) -> Result<(), Box<dyn std::error::Error>>
//! # where
//! #     S: tower_service::Service<http::Request<tonic::body::Body>,
//! #             Response = http::Response<tonic::body::Body>, Error = std::convert::Infallible>
//! #         + tonic::server::NamedService + Clone + Send + Sync + 'static,
//! #     S::Future: Send,
//! # {
//! use plimsoll_qalm::QalmLayer;
//!
//! tonic::transport::Server::builder()
//!     .layer(QalmLayer::new()) // the line
//!     .add_service(quotes)
//!     .serve("127.0.0.1:50051".parse()?)
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! Or `QalmLayer::new().layer(quotes)` around a single service, which keeps its
//! name. Each method is an endpoint.
//!
//! # To say more
//!
//! A policy file gives callers their levels and endpoints their groups; it is
//! followed, and an edit holds within a second:
//!
//! ```no_run
//! # #[cfg(feature = "policy-file")]
//! # fn example() -> Result<(), plimsoll_qalm::PolicyFileError> {
//! use plimsoll_qalm::layer::ShedStatus;
//! use plimsoll_qalm::signals::{CpuSignal, MemorySignal};
//! use plimsoll_qalm::QalmLayer;
//!
//! let qalm = QalmLayer::from_file("qalm.toml")?;
//! // or
//! let qalm = QalmLayer::builder()
//!     .shed_status(ShedStatus::TooManyRequests)
//!     .signal(CpuSignal::new())
//!     .signal(MemorySignal::new())
//!     .build_from_file("qalm.toml")?;
//! # Ok(()) }
//! ```
//!
//! Or the server has it: [`PolicyServer`] is told of it within a second of an edit,
//! keeps it on disk, and reports what the service sees.
//!
//! # What holds
//!
//! - A request that is refused has not reached its handler: it may be retried.
//! - The body of a refused request is read first, up to 64 KiB and 250 ms, so that
//!   HTTP/2 connections survive refusing. tower's `LoadShed` and tonic's
//!   `load_shed` do not do that, and lose them.
//! - A place is given back exactly once: when the answer is complete; when it turns
//!   out to be a stream, after its first bytes; at once when the client goes away
//!   or the handler panics.
//! - Readiness never depends on load.
//! - Everything that callers make up is bounded: endpoints, callers, labels.
//!
//! Waiting, reading refused bodies and telling streams apart need tokio's timer: run
//! it within a tokio runtime that has time enabled.
//!
//! Which requests are admitted is decided in `plimsoll-shedding`; this crate gives
//! it a lock, a clock and wakers ([`Gate`]), and puts it in front of services.

mod background;
#[cfg(feature = "http")]
mod callers;
#[cfg(feature = "grpc")]
mod certificate;
#[cfg(feature = "http")]
pub mod client;
mod clock;
#[cfg(feature = "http")]
pub mod context;
#[cfg(feature = "http")]
mod figures;
mod gate;
#[cfg(feature = "http")]
mod handling;
#[cfg(feature = "http")]
pub mod headers;
#[cfg(feature = "http")]
mod jitter;
#[cfg(feature = "http")]
mod lane;
#[cfg(feature = "http")]
pub mod layer;
#[cfg(feature = "policy-text")]
pub mod policy_file;
#[cfg(feature = "policy-sync")]
pub mod policy_server;
#[cfg(feature = "http")]
mod sampler;
#[cfg(feature = "http")]
pub mod signals;

#[cfg(feature = "http")]
pub use context::Context;
pub use gate::{Admission, Gate, Place, QueueStatus, Waiting};
#[cfg(feature = "http")]
pub use layer::{Qalm, QalmLayer};
pub use plimsoll_shedding as shedding;
#[cfg(feature = "policy-file")]
pub use policy_file::PolicyFile;
#[cfg(feature = "policy-text")]
pub use policy_file::PolicyFileError;
#[cfg(feature = "policy-sync")]
pub use policy_server::{PolicyServer, PolicyServerError};
