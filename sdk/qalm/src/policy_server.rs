//! The policy from Plimsoll's server: pushed when it changes, kept on disk, in force
//! whether the server is there or not.
//!
//! Which policy holds, in this order:
//!
//! 1. the server's newest, from the moment when it came,
//! 2. the one that was kept on disk when the process ran last,
//! 3. the policy file, which is followed until the server has sent one,
//! 4. the default, which protects.
//!
//! A policy that makes no sense changes nothing: the last good one stays, and the
//! server is told why. A server that is away changes nothing either: what holds
//! goes on to hold, and a metric says so. All of it happens in a thread of its own,
//! so that a kill switch holds also where the service's own runtime stands still;
//! requests know nothing of it.

mod backoff;
mod dialer;
mod error;
mod kept;
mod status;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use plimsoll_shedding::policy::Table;
pub use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::policy_file::{Loaded, PolicyFile};
pub(crate) use backoff::Backoff;
pub(crate) use dialer::{Dialer, connect};
pub use error::PolicyServerError;
pub(crate) use kept::Kept;
pub use status::{Origin, Refused, Status};

/// Where a service gets its policy: the addresses of servers, its name, and what to
/// do until the first policy comes.
///
/// ```no_run
/// # fn example() -> Result<(), plimsoll_qalm::PolicyServerError> {
/// use plimsoll_qalm::{PolicyServer, QalmLayer};
///
/// let server = PolicyServer::new("http://127.0.0.1:7943", "menu")
///     .version(env!("CARGO_PKG_VERSION"))
///     .file("policy.toml") // until the server has one
///     .keep("/var/lib/menu/policy.toml");
/// let qalm = QalmLayer::builder().build_from_server(server)?;
/// # let _ = qalm; Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "give it to QalmLayer::builder().build_from_server"]
pub struct PolicyServer {
    servers: Vec<String>,
    pub(crate) service: String,
    pub(crate) instance: String,
    pub(crate) version: String,
    file: Option<PathBuf>,
    keep: Option<PathBuf>,
    tls: Option<ClientTlsConfig>,
}

/// What a service begins with.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) policy: Arc<Loaded>,
    pub(crate) origin: Origin,
    /// Of the server's policy; 0: it is not the server's.
    pub(crate) revision: u64,
    pub(crate) file: Option<PolicyFile>,
    pub(crate) kept: Option<Kept>,
}

impl PolicyServer {
    /// The policy of `service` from the servers at these addresses, with commas
    /// between: `http://10.0.0.1:7943,http://10.0.0.2:7943`. Any of them will do; one
    /// is asked at a time.
    pub fn new(servers: &str, service: impl Into<String>) -> Self {
        let servers = servers.split(',').map(str::trim).filter(|it| !it.is_empty());
        Self {
            servers: servers.map(str::to_owned).collect(),
            service: service.into(),
            instance: instance(),
            version: String::new(),
            file: None,
            keep: None,
            tls: None,
        }
    }

    /// The name of this instance, unique in its service; host and process unless
    /// said.
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = name.into();
        self
    }

    /// The version of the service, which the console shows.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// A policy file that holds, and is followed, until the server has sent a
    /// policy.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Keeps the server's last policy there, a policy file too, and begins with it
    /// at the next start. Its folder is made if need be; instances that share it may
    /// share the file.
    pub fn keep(mut self, path: impl Into<PathBuf>) -> Self {
        self.keep = Some(path.into());
        self
    }

    /// How to trust servers at `https://`.
    pub fn tls(mut self, tls: ClientTlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// # Errors
    /// No address, or one that is none; no name.
    pub(crate) fn dialer(&self) -> Result<Dialer, PolicyServerError> {
        if self.service.trim().is_empty() {
            return Err(PolicyServerError::NoService);
        }
        Dialer::new(&self.servers, self.tls.as_ref())
    }

    /// # Errors
    /// A policy file that cannot be read, or makes no sense. What was kept and can be
    /// used no more is only reported: no file that the process wrote itself keeps it
    /// from starting.
    pub(crate) fn start(&self) -> Result<Start, PolicyServerError> {
        let file = self.file.as_ref().map(PolicyFile::watch).transpose()?;
        let kept = self.keep.as_ref().map(|path| Kept::new(path.clone(), &self.service));
        let from_disk = kept.as_ref().and_then(Kept::recall);
        let (policy, origin, revision) = match (from_disk, &file) {
            (Some((policy, revision)), _) => (Arc::new(policy), Origin::Kept, revision),
            (None, Some(file)) => (file.current(), Origin::File, 0),
            (None, None) => (Arc::new(default()), Origin::Default, 0),
        };
        Ok(Start { policy, origin, revision, file, kept })
    }
}

/// Without the key.
impl fmt::Debug for PolicyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyServer")
            .field("servers", &self.servers)
            .field("service", &self.service)
            .field("instance", &self.instance)
            .field("file", &self.file)
            .field("keep", &self.keep)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

fn default() -> Loaded {
    let loaded_at = std::time::SystemTime::now();
    Loaded { table: Table::default(), version: "none".to_owned(), loaded_at }
}

/// Layers of this process that were named so far.
static LAYERS: AtomicU32 = AtomicU32::new(0);

/// Containers are often process 1: what they are called tells them apart.
fn instance() -> String {
    let of_variable = std::env::var("HOSTNAME").ok();
    let of_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = of_variable.or_else(of_kernel).unwrap_or_default();
    let host = Some(host.trim()).filter(|host| !host.is_empty()).unwrap_or("localhost");
    let (process, layer) = (std::process::id(), LAYERS.fetch_add(1, Ordering::Relaxed) + 1);
    if layer == 1 { format!("{host}/{process}") } else { format!("{host}/{process}-{layer}") }
}
