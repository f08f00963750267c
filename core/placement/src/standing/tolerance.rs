//! How far from the level a host may be.

use crate::policy::Adaptive;

use super::host::Host;

/// Deviations of a host's load that noise explains. At four, one of 31,000 hosts
/// would seem hot by noise alone in every time constant; but most are truly a
/// little above the level or below it, and drift, which leaves them that much
/// closer. Over a day of noise of 30 % and drift of 10 %, 1,000 shards move 3 to 4
/// times an hour at five, less than once at six. At seven, some shards that double
/// for good are put right only after half a minute.
const NOISE: f64 = 6.0;

/// What noise explains, between two parts of the level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tolerance {
    least: f64,
    most: f64,
}

impl Tolerance {
    pub(crate) fn of(adaptive: &Adaptive) -> Self {
        let least = adaptive.min_tolerance;
        Self { least, most: adaptive.max_tolerance.max(least) }
    }

    /// What no host is too far off, per unit of capacity.
    pub(crate) fn least(&self, level: f64) -> f64 {
        self.least * level
    }

    /// How far from the level that host may be, per unit of capacity. What one must
    /// carry that is surely above the level says nothing of the rest, which is what
    /// it has too much: the noise of its largest shard does not count.
    pub(crate) fn of_host(&self, host: &Host, level: f64) -> f64 {
        let noise = match noise(host, host.variance) {
            of_all if host.is_pinned(level) && host.fullness() - level > of_all => {
                noise(host, (host.variance - host.largest_variance).max(0.0))
            }
            of_all => of_all,
        };
        noise.max(self.least(level)).min(self.most * level)
    }

    /// The level from which on that host is cold. This says the same as
    /// [`Tolerance::of_host`] without asking for the level, so that hosts can be
    /// kept in order of it.
    pub(crate) fn cold_above(&self, host: &Host) -> f64 {
        let fullness = host.fullness();
        let noisy = fullness + noise(host, host.variance);
        noisy.max(less(fullness, self.least)).min(less(fullness, self.most))
    }
}

/// Of so much variance, per unit of capacity.
fn noise(host: &Host, variance: f64) -> f64 {
    NOISE * variance.sqrt() / host.capacity
}

/// The level of which that is all but a part.
fn less(fullness: f64, part: f64) -> f64 {
    if part < 1.0 { fullness / (1.0 - part) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_that_level_on_a_host_is_further_below_it_than_may_be() {
        let tolerance = Tolerance { least: 0.005, most: 0.25 };
        for (load, variance) in [(10.0, 0.0), (10.0, 0.04), (10.0, 9.0), (0.0, 0.0), (3.0, 0.001)] {
            let host = Host { capacity: 2.0, load, variance, ..Host::default() };
            let cold_above = tolerance.cold_above(&host);
            for level in [cold_above * 0.999 + 1e-9, cold_above * 1.001 + 1e-9] {
                let is_cold = host.heat(level) < -tolerance.of_host(&host, level);
                assert_eq!(is_cold, level > cold_above, "{host:?} at {level}");
            }
        }
    }

    #[test]
    fn the_noise_of_a_shard_that_pins_its_host_hides_nothing_beside_it() {
        let tolerance = Tolerance { least: 0.005, most: 0.25 };
        let host = |load, largest| Host {
            capacity: 1.0,
            load,
            largest,
            variance: 0.01 + 1e-6,
            largest_variance: 0.01,
            ..Host::default()
        };
        // Six deviations of all are 0.6, of the rest 0.006.
        let beside = tolerance.of_host(&host(20.5, 20.0), 10.0);
        assert_eq!(beside, tolerance.least(10.0));
        // It may not be above the level at all, or is one of many.
        assert!(tolerance.of_host(&host(10.55, 10.05), 10.0) > 0.59);
        assert!(tolerance.of_host(&host(20.5, 5.0), 10.0) > 0.59);
    }

    #[test]
    fn where_anything_is_tolerated_no_host_is_cold() {
        let tolerance = Tolerance { least: 1.0, most: 1.0 };
        let idle = Host { capacity: 1.0, ..Host::default() };
        assert_eq!(tolerance.cold_above(&idle), f64::INFINITY);
    }
}
