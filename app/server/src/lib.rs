//! The shard manager's server: drivers around the cores, gRPC and HTTP services.
//!
//! Shells are active and decide nothing: where a shard goes and who owns it is
//! decided in `core/ownership` and `core/placement`.

pub mod board;
pub mod clock;
pub mod confidence;
pub mod config;
pub mod driver;
pub mod election;
pub mod forward;
pub mod grpc;
pub mod history;
pub mod http;
pub mod leadership;
pub mod listing;
pub mod metrics;
pub mod namespaces;
pub mod peers;
pub mod policies;
pub mod replica;
pub mod server;
pub mod tls;

pub use config::Config;
pub use server::{Error, Server, open_store};
