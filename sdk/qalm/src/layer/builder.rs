//! What a layer may be told; nothing of it must be.

#[cfg(feature = "policy-file")]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_shedding::policy::{Policy, PolicyError, Table};
use plimsoll_shedding::settings::ServiceSettings;
use plimsoll_shedding::signal::SignalKind;

use super::QalmLayer;
use super::answer::ShedStatus;
#[cfg(feature = "policy-sync")]
use super::following::Following;
use super::incoming::Cohorts;
use super::protection::{AnswerSettings, Protection};
use super::recent::Refusals;
use super::registry::Registry;
use super::source::PolicySource;
use crate::gate::Gate;
use crate::headers::BadHeaders;
#[cfg(feature = "policy-file")]
use crate::policy_file::{PolicyFile, PolicyFileError};
#[cfg(feature = "policy-sync")]
use crate::policy_server::{PolicyServer, PolicyServerError};
use crate::sampler::Sampler;
use crate::signals::{LagSignal, ResourceSignal};

/// Makes a [`QalmLayer`].
#[derive(Debug)]
pub struct QalmLayerBuilder {
    answers: AnswerSettings,
    cores: Option<u32>,
    signals: Vec<Box<dyn ResourceSignal>>,
}

impl Default for QalmLayerBuilder {
    fn default() -> Self {
        Self {
            answers: AnswerSettings::default(),
            cores: None,
            signals: vec![Box::new(LagSignal::new())],
        }
    }
}

impl QalmLayerBuilder {
    /// The HTTP status of a request that is shed.
    #[must_use]
    pub fn shed_status(mut self, status: ShedStatus) -> Self {
        self.answers.status = status;
        self
    }

    /// How much of a refused request's body is read before the answer, and for how
    /// long: 64 KiB and 250 ms unless said. Nothing at all makes busy HTTP/2
    /// connections break.
    #[must_use]
    pub fn drain(mut self, bytes: usize, time: Duration) -> Self {
        self.answers.drain.bytes = bytes;
        self.answers.drain.time = time;
        self
    }

    /// Cores that the service may use; found from the machine and its cgroup
    /// unless said.
    #[must_use]
    pub fn cores(mut self, cores: u32) -> Self {
        self.cores = Some(cores.max(1));
        self
    }

    /// Without the probe of the event loop's lag, which is on unless said: it wakes
    /// 20 times a second, 100 times while the loop is late, and is what notices that
    /// handlers use up the CPU.
    #[must_use]
    pub fn without_lag_probe(mut self) -> Self {
        self.signals.retain(|signal| signal.kind() != SignalKind::Lag);
        self
    }

    /// A resource that can bring shedding forward when it runs out.
    #[must_use]
    pub fn signal(mut self, signal: impl ResourceSignal) -> Self {
        self.signals.push(Box::new(signal));
        self
    }

    /// With the default policy.
    pub fn build(self) -> QalmLayer {
        self.with(PolicySource::Given(Arc::new(Table::default())))
    }

    /// With a policy from code.
    ///
    /// # Errors
    /// A policy that makes no sense.
    pub fn build_with(self, policy: &Policy) -> Result<QalmLayer, PolicyError> {
        Ok(self.with(PolicySource::Given(Arc::new(Table::compile(policy)?))))
    }

    /// With the policy of a file, which is followed from then on.
    ///
    /// # Errors
    /// A file that cannot be read, or makes no sense; with its line.
    #[cfg(feature = "policy-file")]
    pub fn build_from_file(self, path: impl Into<PathBuf>) -> Result<QalmLayer, PolicyFileError> {
        Ok(self.with(PolicySource::File(PolicyFile::watch(path)?)))
    }

    /// With the policy of a server, which is followed from then on; until it has
    /// sent one, what was kept, the policy file, or the default holds.
    ///
    /// # Errors
    /// An address that is none, or a policy file that makes no sense. A server that
    /// is away is no error: it is tried until it is there.
    #[cfg(feature = "policy-sync")]
    pub fn build_from_server(self, server: PolicyServer) -> Result<QalmLayer, PolicyServerError> {
        let (following, follower) = Following::open(server)?;
        let layer = self.with(PolicySource::Server(following));
        follower.start(&layer.protection);
        Ok(layer)
    }

    fn with(self, policy: PolicySource) -> QalmLayer {
        let cores = self.cores.unwrap_or_else(available_cores);
        let gate = Gate::new(ServiceSettings { cores, ..ServiceSettings::default() });
        let registry = Registry::new(gate.clone(), cores, policy.current());
        QalmLayer {
            protection: Arc::new(Protection {
                gate,
                registry,
                policy,
                answers: self.answers,
                refusals: Refusals::default(),
                sampler: Sampler::new(self.signals),
                bad_headers: BadHeaders::default(),
                cohorts: Cohorts::default(),
                holds: Arc::default(),
                #[cfg(feature = "metrics")]
                facade: super::metrics::Facade::default(),
            }),
        }
    }
}

/// Within the cgroup's quota, where there is one.
fn available_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}
