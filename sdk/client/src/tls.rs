//! What a client knows of TLS: whom it trusts and how it shows who it is.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::dialer::Chain;

/// TLS for `https://` servers, for [`ExecutorBuilder::tls`] and
/// [`SpectatorBuilder::tls`].
///
/// A server is trusted if its certificate is valid for the name that it is reached
/// by and comes from one of the authorities given here; those of the system are
/// not asked. With an identity the client shows a certificate itself, as servers
/// with `tls.client_ca` demand (mutual TLS).
///
/// ```no_run
/// # async fn example<S: plimsoll_client::Shards>(shards: S) -> Result<(), plimsoll_client::BoxError> {
/// use plimsoll_client::{Executor, Tls};
///
/// let tls = Tls::new().ca_file("ca.pem")?.identity_files("me.pem", "me.key")?;
/// let executor = Executor::builder("counters", shards)
///     .connect("https://plimsoll.internal:7943")
///     .tls(tls)
///     .start().await?;
/// # let _ = executor; Ok(()) }
/// ```
///
/// Nothing needs to be installed for it first. If the application has installed a
/// rustls provider of its own, that one is used.
///
/// [`ExecutorBuilder::tls`]: crate::ExecutorBuilder::tls
/// [`SpectatorBuilder::tls`]: crate::SpectatorBuilder::tls
#[derive(Clone, Default)]
pub struct Tls {
    authorities: Vec<Certificate>,
    identity: Option<Identity>,
    domain: Option<String>,
}

/// Why something cannot be used for TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {} for TLS: {source}; check the path and who may read it", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{origin} holds no certificate: it must be PEM, with -----BEGIN CERTIFICATE-----")]
    NoCertificate { origin: String },
    #[error("{origin} holds no private key: it must be PEM, with -----BEGIN PRIVATE KEY-----")]
    NoKey { origin: String },
    #[error("the key in {origin} is encrypted: decrypt it with openssl pkey -in KEY -out PLAIN")]
    EncryptedKey { origin: String },
    #[error("{origin} cannot be used for TLS: {why}; check that it is whole")]
    Refused { origin: String, why: String },
}

impl Tls {
    /// Trusts nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts servers whose certificate comes from this authority, in PEM. There
    /// may be several, in one text or one after the other.
    ///
    /// # Errors
    /// That is no PEM with a certificate.
    pub fn ca_pem(self, pem: impl AsRef<[u8]>) -> Result<Self, TlsError> {
        self.trusting(pem.as_ref(), "the PEM text of the CA")
    }

    /// As [`ca_pem`](Self::ca_pem), from a file that is read now.
    ///
    /// # Errors
    /// It cannot be read, or is no PEM with a certificate.
    pub fn ca_file(self, path: impl AsRef<Path>) -> Result<Self, TlsError> {
        let path = path.as_ref();
        self.trusting(&read(path)?, &path.display().to_string())
    }

    /// Shows servers this certificate, in PEM, with those of the authorities
    /// between after it if there are any. The key is not encrypted.
    ///
    /// # Errors
    /// They are no PEM, or the key is not that of the certificate.
    pub fn identity_pem(
        self,
        certificate: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, TlsError> {
        let certificate = ("the PEM text of the certificate", certificate.as_ref());
        self.shown_as(certificate, ("the PEM text of its key", key.as_ref()))
    }

    /// As [`identity_pem`](Self::identity_pem), from files that are read now.
    ///
    /// # Errors
    /// They cannot be read, are no PEM, or the key is not that of the certificate.
    pub fn identity_files(
        self,
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.as_ref(), key.as_ref());
        let (name, key_name) = (certificate.display().to_string(), key.display().to_string());
        self.shown_as((&name, &read(certificate)?), (&key_name, &read(key)?))
    }

    /// Expects certificates of all servers to be valid for this name instead of
    /// the one in the address: for servers that are reached by another.
    #[must_use]
    pub fn domain(mut self, name: impl Into<String>) -> Self {
        self.domain = Some(name.into());
        self
    }

    fn trusting(mut self, pem: &[u8], origin: &str) -> Result<Self, TlsError> {
        check_certificate(pem, origin)?;
        let authority = Certificate::from_pem(pem);
        check(ClientTlsConfig::new().ca_certificate(authority.clone()), || origin.to_owned())?;
        self.authorities.push(authority);
        Ok(self)
    }

    fn shown_as(
        mut self,
        (origin, certificate): (&str, &[u8]),
        (key_origin, key): (&str, &[u8]),
    ) -> Result<Self, TlsError> {
        check_certificate(certificate, origin)?;
        check_key(key, key_origin)?;
        let identity = Identity::from_pem(certificate, key);
        check(ClientTlsConfig::new().identity(identity.clone()), || {
            format!("{origin} with {key_origin}")
        })?;
        self.identity = Some(identity);
        Ok(self)
    }

    /// `None` if no server at all would be trusted.
    pub(crate) fn config(&self) -> Option<ClientTlsConfig> {
        if self.authorities.is_empty() {
            return None;
        }
        let mut config = ClientTlsConfig::new().ca_certificates(self.authorities.iter().cloned());
        if let Some(identity) = &self.identity {
            config = config.identity(identity.clone());
        }
        if let Some(domain) = &self.domain {
            config = config.domain_name(domain);
        }
        Some(config)
    }
}

/// Without the key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authorities", &self.authorities.len())
            .field("identity", &self.identity.is_some())
            .field("domain", &self.domain)
            .finish()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

/// Text without any certificate would be taken for an empty list of them.
fn check_certificate(pem: &[u8], origin: &str) -> Result<(), TlsError> {
    if contains(pem, "-----BEGIN CERTIFICATE-----") {
        return Ok(());
    }
    Err(TlsError::NoCertificate { origin: origin.to_owned() })
}

fn check_key(pem: &[u8], origin: &str) -> Result<(), TlsError> {
    let origin = || origin.to_owned();
    if contains(pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        return Err(TlsError::EncryptedKey { origin: origin() });
    }
    if contains(pem, "PRIVATE KEY-----") {
        return Ok(());
    }
    Err(TlsError::NoKey { origin: origin() })
}

fn contains(pem: &[u8], mark: &str) -> bool {
    pem.windows(mark.len()).any(|window| window == mark.as_bytes())
}

/// Has rustls look at it before it is needed.
fn check(config: ClientTlsConfig, origin: impl FnOnce() -> String) -> Result<(), TlsError> {
    match Endpoint::from_static("https://localhost").tls_config(config) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(TlsError::Refused { origin: origin(), why: Chain(&error).cause().to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: &str = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";

    fn error(tls: Result<Tls, TlsError>) -> String {
        tls.unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let said = error(Tls::new().ca_file("/nowhere/ca.pem"));
        assert!(said.contains("/nowhere/ca.pem") && said.contains("check the path"), "{said}");
    }

    #[test]
    fn what_holds_no_certificate_is_refused() {
        let said = error(Tls::new().ca_pem("-----BEGIN PRIVATE KEY-----"));
        assert!(said.contains("CA holds no certificate"), "{said}");
    }

    #[test]
    fn a_broken_certificate_is_refused() {
        let said = error(Tls::new().ca_pem(BROKEN));
        assert!(said.contains("rror parsing TLS certificate"), "{said}");
    }

    #[test]
    fn an_encrypted_key_and_none_are_told_apart() {
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
        let said = error(Tls::new().identity_pem(BROKEN, encrypted));
        assert!(said.contains("openssl pkey"), "{said}");
        let said = error(Tls::new().identity_pem(BROKEN, BROKEN));
        assert!(said.contains("key holds no private key"), "{said}");
    }
}
