//! TLS of the gRPC port, from PEM files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Identity, Server, ServerTlsConfig};

use crate::config::Tls;

/// A client that has connected and shows no certificate holds a socket until then.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {key} = {}: {source}; check the path and who may read it", .path.display())]
    Read { key: &'static str, path: PathBuf, source: io::Error },
    #[error("{key} = {} holds no {what}: it must be PEM, with -----BEGIN {mark}", .path.display())]
    NotPem { key: &'static str, path: PathBuf, what: &'static str, mark: &'static str },
    #[error("tls.key = {} is encrypted: decrypt it with openssl pkey -in KEY -out PLAIN", .path.display())]
    EncryptedKey { path: PathBuf },
    #[error(
        "tls.certificate = {} and tls.key = {} cannot be used: {why}; check that both are whole \
         and belong together", .certificate.display(), .key.display()
    )]
    Identity { certificate: PathBuf, key: PathBuf, why: String },
    #[error(
        "tls.server_ca is missing: servers on etcd with tls.certificate call each other by TLS; \
         give the file of the authority that signed their certificates"
    )]
    NoServerCa,
    #[error("tls.client_ca = {} cannot be used: {why}; check that it is whole", .path.display())]
    ClientCa { path: PathBuf, why: String },
}

/// The TLS of the server; `None` if none is configured.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn server_tls(tls: &Tls) -> Result<Option<ServerTlsConfig>, Error> {
    if tls.certificate.as_os_str().is_empty() {
        return Ok(None);
    }
    let config = ServerTlsConfig::new().identity(identity(tls)?).timeout(HANDSHAKE_WITHIN);
    check(&config).map_err(|why| Error::Identity {
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
        why,
    })?;
    let path = &tls.client_ca;
    if path.as_os_str().is_empty() {
        return Ok(Some(config));
    }
    let config = config.client_ca_root(Certificate::from_pem(certificate("tls.client_ca", path)?));
    check(&config).map_err(|why| Error::ClientCa { path: path.clone(), why })?;
    Ok(Some(config))
}

/// The TLS of calls from this server, which is one of several, to the others; `None`
/// if none is configured.
///
/// # Errors
/// A file cannot be read, or is not what it should be.
pub fn client_tls(tls: &Tls) -> Result<Option<ClientTlsConfig>, Error> {
    if tls.certificate.as_os_str().is_empty() {
        return Ok(None);
    }
    let is_given = |path: &PathBuf| !path.as_os_str().is_empty();
    let (key, path) = match (is_given(&tls.server_ca), is_given(&tls.client_ca)) {
        (true, _) => ("tls.server_ca", &tls.server_ca),
        (false, true) => ("tls.client_ca", &tls.client_ca),
        (false, false) => return Err(Error::NoServerCa),
    };
    let ca = Certificate::from_pem(certificate(key, path)?);
    Ok(Some(ClientTlsConfig::new().identity(identity(tls)?).ca_certificate(ca)))
}

fn identity(tls: &Tls) -> Result<Identity, Error> {
    let certificate = certificate("tls.certificate", &tls.certificate)?;
    let key = read("tls.key", &tls.key)?;
    if contains(&key, "-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        return Err(Error::EncryptedKey { path: tls.key.clone() });
    }
    if !contains(&key, "PRIVATE KEY-----") {
        return Err(not_pem("tls.key", &tls.key, "private key", "PRIVATE KEY-----"));
    }
    Ok(Identity::from_pem(certificate, key))
}

/// Text without any certificate would be taken for an empty list of them.
pub(crate) fn certificate(key: &'static str, path: &Path) -> Result<Vec<u8>, Error> {
    let pem = read(key, path)?;
    if contains(&pem, "-----BEGIN CERTIFICATE-----") {
        return Ok(pem);
    }
    Err(not_pem(key, path, "certificate", "CERTIFICATE-----"))
}

fn not_pem(key: &'static str, path: &Path, what: &'static str, mark: &'static str) -> Error {
    Error::NotPem { key, path: path.to_owned(), what, mark }
}

pub(crate) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Read { key, path: path.to_owned(), source })
}

fn contains(pem: &[u8], mark: &str) -> bool {
    pem.windows(mark.len()).any(|window| window == mark.as_bytes())
}

/// Has rustls look at it while it is known which file is meant.
fn check(config: &ServerTlsConfig) -> Result<(), String> {
    let refused = match Server::builder().tls_config(config.clone()) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let causes = std::iter::successors(Some(&refused as &dyn std::error::Error), |e| e.source());
    Err(causes.last().map_or_else(String::new, ToString::to_string))
}
