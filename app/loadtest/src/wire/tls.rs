//! TLS to the target, with the version settled by ALPN.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{Broken, PATIENCE};
use crate::error::Error;
use crate::plan::{Plan, Version};

/// Where distributions keep the certificates that they trust.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const ADVICE: &str = "check that it serves TLS and that --ca names who signed its certificate";

/// How connections are made secret.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    config: ClientConfig,
}

impl Tls {
    pub(super) fn new(plan: &Plan, version: Version) -> Result<Self, Error> {
        let roots = roots(plan.ca.as_deref())?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Plan(format!("TLS cannot be set up: {error}")))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols(version);
        Ok(Self { config })
    }

    /// Asks the server which version it prefers, and holds on to that.
    pub(super) async fn negotiate(
        &mut self,
        host: &str,
        tcp: TcpStream,
    ) -> Result<Version, Broken> {
        let stream = self.wrap(host, tcp).await?;
        let chosen = stream.get_ref().1.alpn_protocol();
        let version = if chosen == Some(b"h2") { Version::Http2 } else { Version::Http1 };
        self.config.alpn_protocols = protocols(version);
        Ok(version)
    }

    pub(super) async fn wrap(
        &self,
        host: &str,
        tcp: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Broken> {
        let broken = |why: String| Broken { why, advice: ADVICE };
        let name = ServerName::try_from(host.to_owned()).map_err(|why| broken(why.to_string()))?;
        let connector = TlsConnector::from(Arc::new(self.config.clone()));
        let shaken = timeout(PATIENCE, connector.connect(name, tcp)).await;
        let stream = shaken.map_err(|_| broken("no TLS handshake within 5 s".into()))?;
        let stream = stream.map_err(|error| broken(error.to_string()))?;
        let only_h2 = self.config.alpn_protocols == protocols(Version::Http2);
        if only_h2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(Broken {
                why: "it does not offer HTTP/2 (h2) by ALPN".into(),
                advice: "leave --http2 away, or switch HTTP/2 on there",
            });
        }
        Ok(stream)
    }
}

fn protocols(version: Version) -> Vec<Vec<u8>> {
    match version {
        Version::Http1 => vec![b"http/1.1".to_vec()],
        Version::Http2 => vec![b"h2".to_vec()],
        Version::Negotiated => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    }
}

/// The certificates of a file, or of the system.
fn roots(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let system = || BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
    let path = file.map(Path::to_owned).or_else(system).ok_or_else(|| {
        Error::Plan("this system has no certificate bundle; name one with --ca FILE".into())
    })?;
    let pem = std::fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        let path = path.display();
        return Err(Error::Plan(format!("{path} holds no certificate; give a PEM file to --ca")));
    }
    Ok(roots)
}
