//! Load that changes over days, decided by a seed.
//!
//! Every shard belongs to a tenant. A shard carries its base, times the hour of
//! the day, times what its tenant does, times what happens to it: a launch that
//! makes it grow for good, a flash crowd that multiplies it by ten within 30 s,
//! holds, and ebbs away. Reports have noise on top, which is not load.

use std::f64::consts::TAU;
use std::time::Duration;

use plimsoll_placement::time::Time;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// How much of a load the time of day takes and gives.
const SWING: f64 = 0.45;
/// The spread of what tenants do, of the logarithm.
const TENANT_SPREAD: f64 = 0.25;
/// How long a tenant's mood lasts, in seconds.
const TENANT_MEMORY: f64 = 3.0 * 3600.0;
/// From nothing to all of a flash crowd, in seconds.
const ONSET: f64 = 30.0;
/// How much a flash crowd multiplies by.
const CROWD: f64 = 10.0;

/// How traffic is made.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub shards: usize,
    pub tenants: usize,
    /// Sigma of the log-normal distribution of bases.
    pub skew: f64,
    pub launches_a_day: f64,
    pub crowds_a_day: f64,
    pub seed: u64,
}

/// A month of traffic, or less.
#[derive(Clone, Debug)]
pub struct Traffic {
    bases: Vec<f64>,
    tenants: Vec<usize>,
    /// The logarithm of what each tenant does now.
    moods: Vec<f64>,
    launches: Vec<Event>,
    crowds: Vec<Event>,
    rng: Pcg64Mcg,
    at: Option<Time>,
}

/// Something that happens to one shard.
#[derive(Clone, Copy, Debug)]
struct Event {
    shard: usize,
    /// Seconds from the start.
    begins: f64,
    /// For a launch how much larger it ends up; for a crowd how long it holds, in
    /// seconds.
    size: f64,
}

impl Traffic {
    /// Traffic for so many days.
    pub fn new(recipe: Recipe, days: f64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(recipe.seed);
        let normal = |rng: &mut Pcg64Mcg| -> f64 { rng.sample(StandardNormal) };
        let bases = (0..recipe.shards).map(|_| 10.0 * (recipe.skew * normal(&mut rng)).exp());
        let bases: Vec<f64> = bases.collect();
        let tenants = (0..recipe.shards).map(|_| rng.random_range(0..recipe.tenants)).collect();
        let moods = (0..recipe.tenants).map(|_| TENANT_SPREAD * normal(&mut rng)).collect();
        let launches = events(&mut rng, recipe, recipe.launches_a_day * days, days, (2.0, 4.0));
        let crowds = events(&mut rng, recipe, recipe.crowds_a_day * days, days, (300.0, 1800.0));
        Self { bases, tenants, moods, launches, crowds, rng, at: None }
    }

    /// What every shard carries at `now`, which never goes back.
    pub fn loads(&mut self, now: Time) -> Vec<f64> {
        self.tenants_move_on(now);
        let seconds = now.as_nanos() as f64 / 1e9;
        let hour = 1.0 - SWING * (TAU * seconds / 86_400.0).cos();
        let moods: Vec<f64> = self.moods.iter().map(|mood| mood.exp()).collect();
        let shards = self.bases.iter().zip(&self.tenants);
        let mut loads: Vec<f64> =
            shards.map(|(base, &tenant)| base * hour * moods[tenant]).collect();
        for launch in &self.launches {
            loads[launch.shard] *= launch.growth(seconds);
        }
        for crowd in &self.crowds {
            loads[crowd.shard] *= crowd.crush(seconds);
        }
        loads
    }

    /// A walk that comes back (an Ornstein-Uhlenbeck process), exact for any step.
    fn tenants_move_on(&mut self, now: Time) {
        let elapsed = self.at.map_or(Duration::ZERO, |at| now - at).as_secs_f64();
        self.at = Some(now);
        let keeps = (-elapsed / TENANT_MEMORY).exp();
        let pushed = TENANT_SPREAD * (1.0 - keeps * keeps).sqrt();
        for mood in &mut self.moods {
            let push: f64 = self.rng.sample(StandardNormal);
            *mood = keeps * *mood + pushed * push;
        }
    }
}

fn events(
    rng: &mut Pcg64Mcg,
    recipe: Recipe,
    count: f64,
    days: f64,
    (least, most): (f64, f64),
) -> Vec<Event> {
    let event = |_| Event {
        shard: rng.random_range(0..recipe.shards),
        begins: rng.random_range(0.0..days * 86_400.0),
        size: rng.random_range(least..most),
    };
    (0..count.round() as usize).map(event).collect()
}

impl Event {
    /// A launch: from 1 to its size within six hours, for good.
    fn growth(&self, seconds: f64) -> f64 {
        let part = ((seconds - self.begins) / (6.0 * 3600.0)).clamp(0.0, 1.0);
        1.0 + part * (self.size - 1.0)
    }

    /// A crowd: up within [`ONSET`], held, then down again within ten times that.
    fn crush(&self, seconds: f64) -> f64 {
        let since = seconds - self.begins;
        let up = (since / ONSET).clamp(0.0, 1.0);
        let down = 1.0 - ((since - ONSET - self.size) / (10.0 * ONSET)).clamp(0.0, 1.0);
        1.0 + (CROWD - 1.0) * up.min(down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: Recipe = Recipe {
        shards: 50,
        tenants: 5,
        skew: 1.0,
        launches_a_day: 0.0,
        crowds_a_day: 0.0,
        seed: 7,
    };

    fn at(hours: f64) -> Time {
        Time::from_millis((hours * 3_600_000.0) as u64)
    }

    #[test]
    fn a_seed_is_a_month() {
        let series = |seed| {
            let mut traffic = Traffic::new(Recipe { seed, crowds_a_day: 3.0, ..RECIPE }, 2.0);
            (0..48).map(|hour| traffic.loads(at(f64::from(hour)))).collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(1));
        assert_ne!(series(1), series(2));
    }

    #[test]
    fn the_shards_of_a_tenant_move_together() {
        let mut traffic = Traffic::new(Recipe { tenants: 1, ..RECIPE }, 1.0);
        let (morning, evening) = (traffic.loads(at(6.0)), traffic.loads(at(20.0)));
        let ratios: Vec<f64> = evening.iter().zip(&morning).map(|(e, m)| e / m).collect();
        assert!(ratios.iter().all(|ratio| (ratio - ratios[0]).abs() < 1e-9));
        assert!((ratios[0] - 1.0).abs() > 0.01);
    }

    #[test]
    fn a_crowd_is_ten_times_as_much_after_30_seconds_and_leaves_again() {
        let crowd = Event { shard: 0, begins: 100.0, size: 600.0 };
        assert_eq!(crowd.crush(100.0), 1.0);
        assert_eq!(crowd.crush(115.0), 5.5);
        assert_eq!(crowd.crush(130.0), 10.0);
        assert_eq!(crowd.crush(729.0), 10.0);
        assert_eq!(crowd.crush(1030.0), 1.0);
    }

    #[test]
    fn a_launch_stays() {
        let launch = Event { shard: 0, begins: 0.0, size: 3.0 };
        assert_eq!((launch.growth(0.0), launch.growth(1e9)), (1.0, 3.0));
    }
}
