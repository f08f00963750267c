//! A reverse proxy to stand in front of one service in any language, so that the
//! service is protected without a change: HTTP/1.1, HTTP/2 without TLS and gRPC,
//! with trailers, streams and upgrades.
//!
//! Whether a request may pass is not decided here: [`Forward`] passes everything
//! on, [`Bound::serve`] takes whatever stack of layers stands around it, and
//! [`Bound::serve_shedding`] puts QALM there. One
//! proxy has one service behind it; it does not route, balance, cache, compress or
//! speak TLS.

mod admin;
mod body;
mod causes;
mod drain;
mod failure;
mod forward;
mod headers;
mod metrics;
mod proxy;
mod serve;
pub mod settings;
pub mod size;
mod tapped;
pub mod target;
mod tunnel;
mod upstream;
mod window;

pub use body::{Body, Error as BodyError};
pub use drain::Drained;
pub use failure::REASON;
pub use forward::Forward;
pub use headers::Peer;
pub use metrics::Metrics;
pub use proxy::{Bound, Error, Proxy};
pub use serve::{BoxError, Stack};
pub use settings::Settings;
pub use target::Target;
