//! Memory of this process against its limit.

use std::fs;

use plimsoll_shedding::signal::SignalKind;

use super::cgroup::Cgroup;
use super::{ResourceSignal, Tick};

/// The part of the limit from which shedding is wanted: the kernel kills at 1.
const THRESHOLD: f64 = 0.9;

/// Resident memory of the process against its cgroup's limit. Says nothing where
/// there is no limit or no `/proc`.
#[derive(Debug)]
pub struct MemorySignal {
    limit: Option<f64>,
    threshold: f64,
}

impl MemorySignal {
    /// Shedding is wanted from 90 % of the limit on.
    pub fn new() -> Self {
        Self::from_part(THRESHOLD)
    }

    /// Shedding is wanted from that part of the limit on, above 0, at most 1.
    pub fn from_part(threshold: f64) -> Self {
        let limit = Cgroup::of_this_process().memory();
        Self { limit, threshold: threshold.clamp(0.01, 1.0) }
    }

    /// Against that many bytes instead of the cgroup's limit.
    pub fn with_limit(bytes: u64) -> Self {
        Self { limit: Some(bytes.max(1) as f64), threshold: THRESHOLD }
    }
}

impl Default for MemorySignal {
    fn default() -> Self {
        Self::new()
    }
}

impl ResourceSignal for MemorySignal {
    fn kind(&self) -> SignalKind {
        SignalKind::Memory
    }

    fn measure(&mut self, _: Tick) -> Option<f64> {
        let limit = self.limit?;
        let used = resident(&fs::read_to_string("/proc/self/status").ok()?)?;
        Some(used / limit / self.threshold)
    }
}

/// Bytes of memory that are really there.
fn resident(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TICK: Tick = Tick { late: Duration::ZERO };

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2_097_152.0));
        assert_eq!(resident("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_beyond_its_limit_is_under_pressure() {
        assert!(MemorySignal::with_limit(1).measure(TICK).unwrap() > 1.0);
        assert!(MemorySignal::with_limit(1 << 50).measure(TICK).unwrap() < 0.01);
    }

    #[test]
    fn without_a_limit_nothing_is_said() {
        let mut signal = MemorySignal { limit: None, threshold: 0.9 };
        assert_eq!(signal.measure(TICK), None);
    }
}
