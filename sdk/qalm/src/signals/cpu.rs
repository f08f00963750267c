//! CPU of this process against what it may use.

use std::fs;
use std::time::{Duration, Instant};

use plimsoll_shedding::signal::SignalKind;

use super::cgroup::Cgroup;
use super::{ResourceSignal, Tick};

/// The part of the quota from which shedding is wanted: above it the kernel
/// throttles, and everything is late.
const THRESHOLD: f64 = 0.9;
/// `/proc` counts in hundredths of a second on every Linux.
const TICKS_A_SECOND: f64 = 100.0;
/// The part of a new measurement in the average: about a second of memory.
const WEIGHT: f64 = 0.25;
/// Shorter spans say nothing at this resolution.
const SHORTEST: Duration = Duration::from_millis(100);

/// CPU of the process against its cgroup's quota, or the cores of the machine.
/// Says nothing where there is no `/proc`.
#[derive(Debug)]
pub struct CpuSignal {
    cpus: f64,
    threshold: f64,
    last: Option<(Instant, f64)>,
    average: f64,
}

impl CpuSignal {
    /// Shedding is wanted from 90 % of the quota on.
    pub fn new() -> Self {
        Self::from_part(THRESHOLD)
    }

    /// Shedding is wanted from that part of the quota on, above 0, at most 1.
    pub fn from_part(threshold: f64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let cpus = Cgroup::of_this_process().cpus().map_or(cores, |quota| quota.min(cores));
        Self { cpus, threshold: threshold.clamp(0.01, 1.0), last: None, average: 0.0 }
    }

    /// `used`: seconds of CPU since the process began.
    fn after(&mut self, now: Instant, used: f64) -> Option<f64> {
        let Some((before, used_before)) = self.last else {
            self.last = Some((now, used));
            return None;
        };
        let span = now.duration_since(before);
        if span < SHORTEST {
            return None;
        }
        self.last = Some((now, used));
        let part = (used - used_before) / span.as_secs_f64() / self.cpus;
        self.average += WEIGHT * (part - self.average);
        Some(self.average / self.threshold)
    }
}

impl Default for CpuSignal {
    fn default() -> Self {
        Self::new()
    }
}

impl ResourceSignal for CpuSignal {
    fn kind(&self) -> SignalKind {
        SignalKind::Cpu
    }

    fn measure(&mut self, _: Tick) -> Option<f64> {
        let used = used_seconds(&fs::read_to_string("/proc/self/stat").ok()?)?;
        self.after(Instant::now(), used)
    }
}

/// User and system time. The name, in parentheses, may have spaces in it.
fn used_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / TICKS_A_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added_whatever_the_name() {
        let stat = "12 (a b) c) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1 1";
        assert_eq!(used_seconds(stat), Some(3.0));
        assert_eq!(used_seconds("nonsense"), None);
    }

    #[test]
    fn a_process_at_its_quota_is_under_pressure_after_a_second() {
        let mut signal = CpuSignal { cpus: 2.0, threshold: 0.9, last: None, average: 0.0 };
        let start = Instant::now();
        assert_eq!(signal.after(start, 0.0), None);
        let at = |n: u32| start + Duration::from_millis(250) * n;
        let pressures: Vec<f64> =
            (1..=12).filter_map(|n| signal.after(at(n), f64::from(n) * 0.5)).collect();
        assert!(pressures[0] < 1.0 && pressures[11] > 1.0, "{pressures:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_can_be_measured() {
        let mut signal = CpuSignal::new();
        let tick = Tick { late: Duration::ZERO };
        assert_eq!(signal.measure(tick), None, "one reading is no rate");
        let (_, before) = signal.last.unwrap();
        signal.last = signal.last.map(|(at, used)| (at - Duration::from_secs(1), used));
        let pressure = signal.measure(tick).unwrap();
        assert!(pressure >= 0.0 && signal.last.unwrap().1 >= before);
    }
}
