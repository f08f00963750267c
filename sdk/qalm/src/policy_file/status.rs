//! How a policy file and the policy in force relate.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Loaded, PolicyFileError};

/// How a policy file and the policy in force relate.
#[derive(Clone, Debug)]
pub struct Status {
    pub path: PathBuf,
    /// Of the policy in force.
    pub version: String,
    pub loaded_at: SystemTime,
    /// Policies put in force since the start, the first included.
    pub loads: u64,
    /// Edits refused since the start.
    pub errors: u64,
    /// Why what is in the file is not in force; `None` while it is.
    pub trouble: Option<Trouble>,
    /// The system tells of changes; else the file is only read twice a second.
    pub is_notified: bool,
}

/// What is wrong with the file now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trouble {
    pub error: PolicyFileError,
    pub since: SystemTime,
}

impl Status {
    pub(super) fn new(path: &Path, loaded: &Loaded) -> Self {
        Self {
            path: path.to_owned(),
            version: loaded.version.clone(),
            loaded_at: loaded.loaded_at,
            loads: 1,
            errors: 0,
            trouble: None,
            is_notified: false,
        }
    }

    pub(super) fn accept(&mut self, loaded: &Loaded) {
        self.version.clone_from(&loaded.version);
        self.loaded_at = loaded.loaded_at;
        self.loads += 1;
        self.trouble = None;
    }

    pub(super) fn refuse(&mut self, error: PolicyFileError) {
        self.errors += 1;
        self.trouble = Some(Trouble { error, since: SystemTime::now() });
    }
}
