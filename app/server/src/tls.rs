//! TLS of the gRPC port, from PEM files.

use std::io;
use std::path::{Path, PathBuf};

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::config::Tls;

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path} for TLS: {source}", path = path.display())]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

/// The TLS of the server; `None` if none is configured.
///
/// # Errors
/// A file cannot be read.
pub fn server_tls(tls: &Tls) -> Result<Option<ServerTlsConfig>, Error> {
    if tls.certificate.as_os_str().is_empty() {
        return Ok(None);
    }
    let identity = Identity::from_pem(read(&tls.certificate)?, read(&tls.key)?);
    let config = ServerTlsConfig::new().identity(identity);
    if tls.client_ca.as_os_str().is_empty() {
        return Ok(Some(config));
    }
    Ok(Some(config.client_ca_root(Certificate::from_pem(read(&tls.client_ca)?))))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error { path: path.to_owned(), source })
}
