//! How etcd is reached.

use std::fmt;

/// Where etcd is and who we are to it.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct EtcdOptions {
    /// `http://host:2379` or `https://...`, one or more.
    pub endpoints: Vec<String>,
    /// Every key begins with it; ends with `/`. By default `/plimsoll/`.
    pub prefix: Option<String>,
    pub tls: EtcdTls,
    /// Name and password, if etcd's authentication is on.
    pub user: Option<(String, String)>,
}

/// What is needed for `https://` endpoints, each in PEM.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct EtcdTls {
    /// Who signed the servers' certificates.
    pub ca: Option<Vec<u8>>,
    /// Our certificate and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the servers' certificates, where it is not that of the endpoint.
    pub domain: Option<String>,
}

impl EtcdOptions {
    /// These endpoints, and nothing special.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let endpoints = endpoints.into_iter().map(Into::into).collect();
        Self { endpoints, ..Self::default() }
    }
}

// Without what is secret.
impl fmt::Debug for EtcdOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdOptions")
            .field("endpoints", &self.endpoints)
            .field("prefix", &self.prefix)
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdTls").field("domain", &self.domain).finish_non_exhaustive()
    }
}
