//! What admission needs to know of a request: a few numbers, nothing borrowed.

use crate::criticality::{Cohort, Criticality};
use crate::settings::Enforcement;
use crate::time::Time;

/// An isolation group's queue, by its position in its [`Shedder`](crate::Shedder).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct QueueIndex(pub u32);

/// A caller, numbered by the shell. Callers beyond the shell's bound share a
/// number.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CallerIndex(pub u32);

/// A request at the moment it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub queue: QueueIndex,
    /// What the policy says, already capped: see [`crate::policy`].
    pub level: Criticality,
    pub cohort: Cohort,
    pub caller: CallerIndex,
    /// When its caller stops waiting; `None`: not said.
    pub deadline: Option<Time>,
    /// What it holds in memory while it waits, in bytes: its declared length, or
    /// what the shell assumes.
    pub bytes: u32,
    pub enforcement: Enforcement,
}
