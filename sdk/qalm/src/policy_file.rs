//! The policy as a TOML file: read, checked, watched.
//!
//! An edit takes effect within a second and all at once. One that makes no sense
//! changes nothing: the last good policy stays in force, and what is wrong is
//! reported once, with its line. See docs/qalm-tune.md for every key.
//!
//! Following a file is the feature `policy-file`; reading a text is `policy-text`
//! alone, for whoever keeps policies elsewhere.

mod duration;
mod error;
mod form;
#[cfg(feature = "policy-file")]
mod settle;
#[cfg(feature = "policy-file")]
mod status;
#[cfg(feature = "policy-file")]
mod watch;

use std::path::Path;
#[cfg(feature = "policy-file")]
use std::path::PathBuf;
#[cfg(feature = "policy-file")]
use std::sync::Arc;
use std::time::SystemTime;

#[cfg(feature = "policy-file")]
use arc_swap::ArcSwap;
use plimsoll_shedding::policy::Table;
#[cfg(feature = "policy-file")]
use tokio::sync::watch as channel;

pub use error::PolicyFileError;
#[cfg(feature = "policy-file")]
pub use status::{Status, Trouble};

/// The longest file that is read, in bytes.
pub const MAX_BYTES: u64 = 4 << 20;

/// A policy in force.
#[derive(Debug)]
pub struct Loaded {
    pub table: Table,
    /// A hash of the text: the same text has the same version on every host.
    pub version: String,
    pub loaded_at: SystemTime,
}

impl Loaded {
    /// Reads and compiles a policy's text. `origin` is what errors call it.
    ///
    /// # Errors
    /// Broken TOML, unknown keys, values of the wrong kind, a policy that makes no
    /// sense: each with its line.
    pub fn parse(origin: &Path, text: &str) -> Result<Self, PolicyFileError> {
        let table = form::compile(origin, text)?;
        Ok(Self { table, version: version(text), loaded_at: SystemTime::now() })
    }

    /// The same, where a policy is in force already: a text that was emptied is a
    /// mistake more often than a wish for defaults.
    ///
    /// # Errors
    /// Those of [`Self::parse`], and an empty text.
    pub fn edit(origin: &Path, text: &str) -> Result<Self, PolicyFileError> {
        if text.trim().is_empty() {
            let reason = "it has been emptied; for the defaults write enforcement = \"enforce\"";
            let (path, reason) = (origin.to_owned(), reason.to_owned());
            return Err(PolicyFileError::Whole { path, reason });
        }
        Self::parse(origin, text)
    }

    /// The same from a file.
    ///
    /// # Errors
    /// Those of [`Self::parse`], and a file that cannot be read.
    #[cfg(feature = "policy-file")]
    pub fn read(path: &Path) -> Result<Self, PolicyFileError> {
        Self::parse(path, &watch::read(path)?)
    }
}

/// A policy file that is followed until this is dropped.
#[cfg(feature = "policy-file")]
#[derive(Debug)]
pub struct PolicyFile {
    current: Arc<ArcSwap<Loaded>>,
    status: channel::Receiver<Status>,
    _watcher: watch::Watcher,
}

#[cfg(feature = "policy-file")]
impl PolicyFile {
    /// Loads a file and follows it from then on.
    ///
    /// # Errors
    /// A file that cannot be read, or makes no sense: a service does not start
    /// with a policy that its owner did not mean. Later such edits are only
    /// reported.
    pub fn watch(path: impl Into<PathBuf>) -> Result<Self, PolicyFileError> {
        let path = path.into();
        let text = watch::read(&path)?;
        let loaded = Loaded::parse(&path, &text)?;
        tracing::info!(path = %path.display(), version = %loaded.version, "policy loaded");
        let (status, follower) = channel::channel(Status::new(&path, &loaded));
        let current = Arc::new(ArcSwap::from_pointee(loaded));
        let watcher = watch::Watcher::start(path, text, current.clone(), status);
        Ok(Self { current, status: follower, _watcher: watcher })
    }

    /// The policy in force.
    pub fn current(&self) -> Arc<Loaded> {
        self.current.load_full()
    }

    /// How the file and what is in force relate: for the debug page and metrics.
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Tells of every load and every refused edit from now on. The policy has been
    /// swapped when it tells.
    pub fn subscribe(&self) -> channel::Receiver<Status> {
        let mut told = self.status.clone();
        told.mark_unchanged();
        told
    }
}

/// The version of a text, as [`Loaded::version`] has it.
// FNV-1a, 64 bits: known everywhere, and nobody attacks it here.
pub fn version(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(feature = "policy-file")]
#[cfg(test)]
mod tests;
