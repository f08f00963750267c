//! What can go wrong before a client works.

use std::io;

use tonic::{Code, Status};

/// What an application's own code may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an executor or a spectator did not come up.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("no server was given: write http://host:port, several with commas between")]
    NoServer,
    #[error("{given:?} is no server address: {why}; write http://host:port, or https://")]
    BadServer { given: String, why: String },
    #[error(
        "{given:?} needs an authority to trust: give its certificate with \
         .tls(Tls::new().ca_file(\"ca.pem\")?), those of the system are not asked; or write \
         http:// for a server without TLS"
    )]
    NoAuthority { given: String },
    /// Instead of silently sending everything in the clear.
    #[error("{given:?} is without TLS, but TLS was given: write https://host:port")]
    PlainAddress { given: String },
    /// Of every server, the last was this.
    #[error("no TLS with {server}: {why}; {advice}")]
    Untrusted { server: String, why: String, advice: &'static str },
    #[error("{name} {value:?} is not allowed: {why}")]
    BadIdentity { name: &'static str, value: String, why: &'static str },
    /// Trying again does not help: NOT_FOUND is a namespace that does not exist.
    #[error("the server refused namespace {namespace:?}: {message} ({code:?})")]
    Refused { namespace: String, code: Code, message: String },
    /// Another process started under the same executor id meanwhile.
    #[error("another process took over the executor id {id:?}: give each process its own")]
    Replaced { id: String },
    #[error("no thread could be started for measuring loads: {0}")]
    Thread(#[source] io::Error),
}

impl ConnectError {
    pub(crate) fn refused(namespace: &str, status: &Status) -> Self {
        Self::Refused {
            namespace: namespace.to_owned(),
            code: status.code(),
            message: status.message().to_owned(),
        }
    }
}

/// Whether the same request will fail again however often it is sent.
pub(crate) fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::NotFound
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::Unimplemented
    )
}
