//! Where the proxy's policy comes from: a server, a file, or neither.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use plimsoll_qalm::policy_server::{Certificate, ClientTlsConfig, Identity};
use plimsoll_qalm::{PolicyServer, QalmLayer};

#[derive(Args, Debug)]
#[command(next_help_heading = "Policy server")]
pub(crate) struct Following {
    /// Servers that have the policy, http://HOST:PORT with commas between; --policy then
    /// holds until one of them has sent it
    #[arg(
        long,
        value_name = "ADDRESSES",
        env = "PLIMSOLL_PROXY_POLICY_SERVER",
        requires = "service"
    )]
    policy_server: Option<String>,
    /// The name of the service there
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_PROXY_SERVICE", requires = "policy_server")]
    service: Option<String>,
    /// Where the last policy is kept, for a start without a server
    #[arg(
        long,
        value_name = "FILE",
        env = "PLIMSOLL_PROXY_POLICY_KEEP",
        requires = "policy_server"
    )]
    policy_keep: Option<PathBuf>,
    /// The name of this instance; host and process by default
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_PROXY_INSTANCE", requires = "policy_server")]
    instance: Option<String>,
    /// Who signed the servers' certificates (PEM), for https://
    #[arg(
        long,
        value_name = "FILE",
        env = "PLIMSOLL_PROXY_POLICY_TLS_CA",
        requires = "policy_server"
    )]
    policy_tls_ca: Option<PathBuf>,
    /// Certificate that the servers are shown (PEM)
    #[arg(
        long,
        value_name = "FILE",
        env = "PLIMSOLL_PROXY_POLICY_TLS_CERT",
        requires_all = ["policy_tls_ca", "policy_tls_key"]
    )]
    policy_tls_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(
        long,
        value_name = "FILE",
        env = "PLIMSOLL_PROXY_POLICY_TLS_KEY",
        requires = "policy_tls_cert"
    )]
    policy_tls_key: Option<PathBuf>,
}

impl Following {
    /// Without any policy every caller is alike and every endpoint has a queue of its
    /// own.
    pub(crate) fn layer(&self, file: Option<&Path>) -> Result<QalmLayer> {
        match (self.server()?, file) {
            (Some(server), Some(file)) => {
                Ok(QalmLayer::builder().build_from_server(server.file(file))?)
            }
            (Some(server), None) => Ok(QalmLayer::builder().build_from_server(server)?),
            (None, Some(file)) => Ok(QalmLayer::from_file(file)?),
            (None, None) => Ok(QalmLayer::new()),
        }
    }

    fn server(&self) -> Result<Option<PolicyServer>> {
        let Some((addresses, service)) = self.policy_server.as_ref().zip(self.service.as_ref())
        else {
            return Ok(None);
        };
        let mut server = PolicyServer::new(addresses, service).version(env!("CARGO_PKG_VERSION"));
        if let Some(name) = &self.instance {
            server = server.instance(name);
        }
        if let Some(path) = &self.policy_keep {
            server = server.keep(path);
        }
        if let Some(tls) = self.tls()? {
            server = server.tls(tls);
        }
        Ok(Some(server))
    }

    fn tls(&self) -> Result<Option<ClientTlsConfig>> {
        let Some(ca) = &self.policy_tls_ca else { return Ok(None) };
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
        Ok(Some(match (&self.policy_tls_cert, &self.policy_tls_key) {
            (Some(certificate), Some(key)) => {
                tls.identity(Identity::from_pem(read(certificate)?, read(key)?))
            }
            _ => tls,
        }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
