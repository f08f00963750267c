//! Where the policy in force comes from, and whether the server is there.

use std::time::SystemTime;

use super::Start;
use crate::policy_file::Loaded;

/// Where the policy in force comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// There is none: the default protects.
    Default,
    /// The policy file.
    File,
    /// The server, before this process started.
    Kept,
    /// The server.
    Server,
}

/// How a service and the server of its policy stand.
#[derive(Clone, Debug)]
pub struct Status {
    pub service: String,
    /// The address of the server that is connected; `None`: none is.
    pub server: Option<String>,
    /// Since when it is connected or not.
    pub since: SystemTime,
    pub origin: Origin,
    /// Of the policy in force; 0: it is not the server's.
    pub revision: u64,
    /// Of its text: the same text has the same version on every host.
    pub version: String,
    pub applied_at: SystemTime,
    /// Policies put in force since the start, the first included.
    pub loads: u64,
    /// Policies refused since the start.
    pub errors: u64,
    /// Why the last that came does not hold; `None`: it does.
    pub refused: Option<Refused>,
    /// Whether the server's policy in force is on disk; `None`: none is kept.
    pub is_kept: Option<bool>,
    /// Observations sent since the start, and left out since the server did not
    /// read: the next one makes up for them.
    pub observations: u64,
    pub left_out: u64,
}

/// A policy that does not hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// 0: an edit of the policy file.
    pub revision: u64,
    /// With the line.
    pub reason: String,
    pub since: SystemTime,
}

impl Origin {
    /// The server's word, now or before, is above the file's.
    pub(crate) fn is_servers(self) -> bool {
        matches!(self, Self::Kept | Self::Server)
    }
}

impl Status {
    pub(crate) fn new(service: &str, start: &Start) -> Self {
        let kept = start.kept.is_some();
        Self {
            service: service.to_owned(),
            server: None,
            since: SystemTime::now(),
            origin: start.origin,
            revision: start.revision,
            version: start.policy.version.clone(),
            applied_at: start.policy.loaded_at,
            loads: 1,
            errors: 0,
            refused: None,
            is_kept: kept.then_some(start.origin == Origin::Kept),
            observations: 0,
            left_out: 0,
        }
    }

    pub(crate) fn accept(&mut self, policy: &Loaded, origin: Origin, revision: u64) {
        self.origin = origin;
        self.revision = revision;
        self.version.clone_from(&policy.version);
        self.applied_at = policy.loaded_at;
        self.loads += 1;
        self.refused = None;
        self.is_kept = self.is_kept.map(|_| false);
    }

    pub(crate) fn refuse(&mut self, revision: u64, reason: String) {
        self.errors += 1;
        self.refused = Some(Refused { revision, reason, since: SystemTime::now() });
    }

    /// Connected to that server, or to none. True if that is news.
    pub(crate) fn meet(&mut self, server: Option<&str>) -> bool {
        if self.server.as_deref() == server {
            return false;
        }
        self.server = server.map(str::to_owned);
        self.since = SystemTime::now();
        true
    }
}
