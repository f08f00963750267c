//! Resources beside the queue: each can only bring shedding forward.

/// A resource that runs out.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum SignalKind {
    /// CPU of the process against its quota.
    Cpu,
    /// Memory of the process against its limit.
    Memory,
    /// How late the event loop runs its timers.
    Lag,
    /// One that the application brings.
    Custom,
}

impl SignalKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Memory, Self::Lag, Self::Custom];

    /// The word in headers, metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Lag => "lag",
            Self::Custom => "custom",
        }
    }
}

/// How far a resource is used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    pub kind: SignalKind,
    /// 0: idle; 1: at the point from which shedding is wanted; above: how far
    /// beyond. Not finite or negative counts as 0.
    pub pressure: f64,
}
