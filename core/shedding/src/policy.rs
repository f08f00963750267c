//! The table: which queue and which criticality an endpoint and a caller have.
//!
//! [`Policy`] is what people write and what travels: plain data, every default
//! protects. [`Table`] is the same compiled: built once, read at every request
//! without allocation. It reads no header and resolves no name: who calls is an
//! argument.
//!
//! # What wins
//!
//! A rule may name an endpoint, a caller or both, with wildcards, and may set a
//! criticality, an enforcement or both. Each of the two is taken from the first
//! rule that sets it, in this order:
//!
//! 1. rules for an endpoint and a caller,
//! 2. rules for a caller,
//! 3. rules for an endpoint,
//! 4. the group (enforcement only),
//! 5. the default.
//!
//! Among rules of one kind the more specific caller is first, then the more
//! specific endpoint: an exact name before a wildcard, more literal text before
//! less. Two rules that would decide the same request and of which neither is
//! more specific are refused: the order of a file decides nothing.

mod callers;
mod check;
mod endpoint;
mod error;
pub(crate) mod glob;
mod overrides;
mod pattern;
mod preview;
mod review;
mod table;
mod told;

use crate::criticality::Criticality;
use crate::settings::{Auto, Enforcement};

pub use endpoint::{Class, EndpointRules, Source};
pub use error::{Place, PolicyError, Problem};
pub use overrides::QueueOverrides;
pub use preview::{Change, LevelShed, MAX_CHANGES, Preview, Standing};
pub use review::{Finding, Matter};
pub use table::Table;

/// Endpoints that are never queued nor refused while `bypass_health` is set: what
/// a supervisor asks must be answered in any overload, or it restarts the service
/// at the worst moment.
pub const HEALTH_ENDPOINTS: [&str; 10] = [
    "/grpc.health.v1.Health/*",
    "/grpc.reflection.v1.ServerReflection/*",
    "/grpc.reflection.v1alpha.ServerReflection/*",
    "/health",
    "/healthz",
    "/livez",
    "/readyz",
    "/-/healthy",
    "/-/ready",
    "/metrics",
];

/// What is known of endpoints and callers. The default protects every endpoint
/// in a queue of its own, with every caller at level 3.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What holds where no rule and no group says otherwise. `Off` is a kill
    /// switch: no rule and no group can undo it.
    pub enforcement: Enforcement,
    /// The level of a request that no rule gives one.
    pub default_criticality: Criticality,
    /// Handlers at once over all queues.
    pub concurrency: Auto<u32>,
    /// Where the caller's name is read, the first that has one.
    pub caller_from: Vec<CallerSource>,
    /// What is believed of incoming headers.
    pub trust: Trust,
    /// Endpoints that are never queued nor refused, beside [`HEALTH_ENDPOINTS`].
    pub bypass: Vec<String>,
    /// Whether [`HEALTH_ENDPOINTS`] are bypassed too.
    pub bypass_health: bool,
    /// Settings of every queue.
    pub queue: QueueOverrides,
    /// Isolation groups. An endpoint in none is alone in a queue of its name.
    pub groups: Vec<Group>,
    pub rules: Vec<Rule>,
}

/// Where a caller's name may be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallerSource {
    /// The header of that name, in lower case.
    Header(String),
    /// The subject of the client's certificate.
    Certificate,
}

/// Which incoming headers are believed. At the edge of what you trust, none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Trust {
    /// A caller may lower its level.
    pub criticality: bool,
    /// A caller may say which cohort its user is in.
    pub cohort: bool,
    /// A caller may say how long it waits.
    pub deadline: bool,
}

/// Endpoints that share a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Letters, digits, `_`, `-` and `.`, at most 64.
    pub name: String,
    /// At least one pattern.
    pub endpoints: Vec<String>,
    /// Each endpoint has a queue of its own with these settings, instead of one
    /// for all.
    pub each: bool,
    pub enforcement: Option<Enforcement>,
    /// Over the settings of every queue.
    pub queue: QueueOverrides,
}

/// What holds for an endpoint, a caller, or both.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rule {
    /// A pattern, see [`Table`]. `None`: every endpoint.
    pub endpoint: Option<String>,
    /// A name with wildcards; empty: those who give no name. `None`: everybody.
    pub caller: Option<String>,
    pub criticality: Option<Criticality>,
    pub enforcement: Option<Enforcement>,
}

/// A rule, by its position in [`Policy::rules`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RuleIndex(pub u32);

/// A group, by its position in [`Policy::groups`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct GroupIndex(pub u32);

impl Default for Policy {
    fn default() -> Self {
        let header = |name: &str| CallerSource::Header(name.to_owned());
        Self {
            enforcement: Enforcement::Enforce,
            default_criticality: Criticality::Feature,
            concurrency: Auto::Auto,
            caller_from: vec![header("rpc-caller"), header("x-caller"), CallerSource::Certificate],
            trust: Trust::default(),
            bypass: Vec::new(),
            bypass_health: true,
            queue: QueueOverrides::default(),
            groups: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self { criticality: true, cohort: true, deadline: true }
    }
}

#[cfg(test)]
mod tests;
