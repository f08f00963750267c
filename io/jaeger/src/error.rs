//! What can go wrong on the way to traces.

use std::path::PathBuf;

/// Why there are no traces.
#[derive(Debug, thiserror::Error)]
pub enum JaegerError {
    #[error("cannot take traces from {}: {why}", path.display())]
    Read { path: PathBuf, why: String },
    #[error(
        "{given:?} is not the address of Jaeger's query service: {why}; write \
         http://HOST:16686. Behind TLS, or a login, save /api/traces with curl and give \
         the file"
    )]
    Address { given: String, why: String },
    #[error("cannot ask {url}: {why}")]
    Ask { url: String, why: String },
    #[error("{url} answers {status}: {said}")]
    Status { url: String, status: u16, said: String },
    #[error("{url} does not answer as Jaeger's query service does: {why}")]
    NotJaeger { url: String, why: String },
    #[error("Jaeger knows no service {service:?}; it knows {known}")]
    NoService { service: String, known: String },
}
