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
    /// `None`: it was given by the code.
    pub(super) path: Option<String>,
    pub(super) version: String,
    /// Since when it holds.
    pub(super) age: Option<Duration>,
    /// Why what is in the file does not hold.
    pub(super) trouble: Option<String>,
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
    #[cfg(feature = "policy-file")]
    fn of(protection: &Protection) -> Self {
        let Some(status) = protection.policy.file_status() else { return Self::given(protection) };
        Self {
            path: Some(status.path.display().to_string()),
            version: status.version,
            age: status.loaded_at.elapsed().ok(),
            trouble: status.trouble.map(|trouble| trouble.error.to_string()),
        }
    }

    #[cfg(not(feature = "policy-file"))]
    fn of(protection: &Protection) -> Self {
        Self::given(protection)
    }

    fn given(protection: &Protection) -> Self {
        let directory = protection.registry.directory();
        let is_default = *directory.policy.policy() == Policy::default();
        let version = if is_default { "none: the defaults" } else { "given by the code" };
        Self { version: version.to_owned(), ..Self::default() }
    }
}
