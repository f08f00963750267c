//! Why a layer cannot follow a server.

use crate::policy_file::PolicyFileError;

/// Why a layer cannot follow a server: found before it starts. That a server is
/// not there is no error.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PolicyServerError {
    #[error("no policy server is named: give one such as http://127.0.0.1:7943")]
    NoServer,
    #[error("a service that has its policy from a server needs a name: give the one it has there")]
    NoService,
    #[error("{given:?} is not the address of a policy server: {why}; write http://HOST:PORT")]
    BadServer { given: String, why: String },
    #[error("{given:?} needs TLS: say with PolicyServer::tls whom to trust, or write http://")]
    NoTls { given: String },
    #[error(transparent)]
    File(#[from] PolicyFileError),
}
