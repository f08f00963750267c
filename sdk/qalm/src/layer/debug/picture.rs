//! Everything that the page shows, of one moment.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_shedding::policy::Policy;

use crate::figures::{EndpointFigures, LaneFigures};
use crate::gate::QueueStatus;
use crate::layer::protection::Protection;
use crate::layer::recent::Recent;

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) policy: PolicyLine,
    pub(super) queues: Vec<QueueStatus>,
    pub(super) endpoints: Vec<Arc<EndpointFigures>>,
    pub(super) lanes: Vec<Arc<LaneFigures>>,
    /// The newest first, with how long ago it was.
    pub(super) refusals: Vec<(Duration, Recent)>,
}

/// Where the policy comes from and how it is.
#[derive(Debug, Default)]
pub(super) struct PolicyLine {
    /// `None`: it is of no file, or of a server.
    pub(super) path: Option<String>,
    /// Whose it is and where it came from; `None`: there is no server.
    pub(super) from: Option<String>,
    pub(super) version: String,
    /// Since when it holds.
    pub(super) age: Option<Duration>,
    /// Why what came last does not hold.
    pub(super) trouble: Option<String>,
    /// How it stands with the server; `None`: there is none.
    pub(super) server: Option<ServerLine>,
}

/// How it stands with the server of the policy.
#[derive(Debug)]
pub(super) struct ServerLine {
    /// 0: what holds is not the server's.
    pub(super) revision: u64,
    /// The one that is connected.
    pub(super) connected: Option<String>,
    /// Since when it is connected or not.
    pub(super) age: Option<Duration>,
}

impl Picture {
    pub(super) fn of(protection: &Protection) -> Self {
        let now = protection.gate.now();
        let refusals = protection.refusals.all().into_iter().rev();
        Self {
            policy: PolicyLine::of(protection),
            queues: protection.gate.queues(),
            endpoints: protection.registry.figures.endpoints(),
            lanes: protection.registry.figures.lanes(),
            refusals: refusals.map(|it| (now - it.at, it)).collect(),
        }
    }
}

impl PolicyLine {
    fn of(protection: &Protection) -> Self {
        #[cfg(feature = "policy-sync")]
        if let Some(status) = protection.policy.server_status() {
            return Self::servers(status);
        }
        #[cfg(feature = "policy-file")]
        if let Some(status) = protection.policy.file_status() {
            return Self::files(status);
        }
        Self::given(protection)
    }

    #[cfg(feature = "policy-file")]
    fn files(status: crate::policy_file::Status) -> Self {
        Self {
            path: Some(status.path.display().to_string()),
            from: None,
            version: status.version,
            age: status.loaded_at.elapsed().ok(),
            trouble: status.trouble.map(|trouble| trouble.error.to_string()),
            server: None,
        }
    }

    #[cfg(feature = "policy-sync")]
    fn servers(status: crate::policy_server::Status) -> Self {
        use crate::policy_server::Origin;
        let from = match status.origin {
            Origin::Default => "the defaults",
            Origin::File => "its policy file",
            Origin::Kept => "what was kept on disk",
            Origin::Server => "the server",
        };
        Self {
            path: None,
            from: Some(format!("{} from {from}", status.service)),
            version: status.version,
            age: status.applied_at.elapsed().ok(),
            trouble: status.refused.map(|refused| refused.reason),
            server: Some(ServerLine {
                revision: status.revision,
                connected: status.server,
                age: status.since.elapsed().ok(),
            }),
        }
    }

    fn given(protection: &Protection) -> Self {
        let directory = protection.registry.directory();
        let is_default = *directory.policy.policy() == Policy::default();
        let version = if is_default { "none: the defaults" } else { "given by the code" };
        Self { version: version.to_owned(), ..Self::default() }
    }
}
