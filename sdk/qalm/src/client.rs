//! For the calls that a service makes: [`ClientLayer`] tells the callee how much a
//! call matters and how long it may take, and keeps back what would be refused;
//! [`RetryLayer`] repeats what was refused, within a budget.
//!
//! ```
//! use plimsoll_qalm::client::{ClientLayer, RetryLayer};
//! use tower::ServiceBuilder;
//!
//! # fn main() -> Result<(), plimsoll_qalm::client::InvalidName> {
//! # let channel = tower::service_fn(|_: http::Request<http_body_util::Full<bytes::Bytes>>| async {
//! #     Ok::<_, std::io::Error>(http::Response::new(()))
//! # });
//! let channel = ServiceBuilder::new()
//!     .layer(RetryLayer::new())
//!     .layer(ClientLayer::new("checkout")?)
//!     .service(channel);
//! # let _ = channel;
//! # Ok(())
//! # }
//! ```
//!
//! In that order: every repetition is told how much time is left then. One of
//! both is enough too.

mod backoff;
mod budget;
mod destination;
mod error;
mod figures;
mod held;
mod layer;
mod replay;
mod retry;
mod stamp;

pub use error::{InvalidName, NotSent, Why};
pub use figures::{ClientFigures, RetryFigures};
pub use layer::{Client, ClientLayer};
pub use replay::{Recorder, Replayable, Tape};
pub use retry::{Retry, RetryLayer};

/// What services fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests;
