//! How loads are distributed over shards.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// What most shards of a log-normal or Pareto snapshot carry, in arbitrary units.
const SCALE: f64 = 10.0;

/// The hottest shard of a Zipf snapshot.
const ZIPF_TOP: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Family {
    /// Sigma; the median is [`SCALE`].
    LogNormal(f64),
    /// The exponent of the tail; the least is [`SCALE`].
    Pareto(f64),
    /// The exponent of the rank.
    Zipf(f64),
    /// A quarter of the shards carry nearly everything, each more than half of
    /// what a host should have.
    FewCoarse,
    /// Nine of ten shards carry next to nothing.
    MostlyIdle,
    /// One shard carries as much as all the others.
    OneKeyHalf,
}

impl Family {
    /// `lognormal-S`, `pareto-A` or `zipf-A`, with a number above 0.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (family, parameter) = name.split_once('-')?;
        let parameter = parameter.parse().ok().filter(|&number: &f64| number > 0.0)?;
        match family {
            _ if parameter.is_infinite() => None,
            "lognormal" => Some(Self::LogNormal(parameter)),
            "pareto" => Some(Self::Pareto(parameter)),
            "zipf" => Some(Self::Zipf(parameter)),
            _ => None,
        }
    }

    /// That many loads, in random order.
    pub(super) fn loads(self, shards: usize, rng: &mut Pcg64Mcg) -> Vec<f64> {
        match self {
            Self::LogNormal(sigma) => (0..shards).map(|_| log_normal(SCALE, sigma, rng)).collect(),
            Self::Pareto(exponent) => (0..shards).map(|_| pareto(exponent, rng)).collect(),
            Self::Zipf(exponent) => shuffled((1..=shards).map(|rank| zipf(exponent, rank)), rng),
            Self::FewCoarse => few_coarse(shards, rng),
            Self::MostlyIdle => mostly_idle(shards, rng),
            Self::OneKeyHalf => one_key_half(shards, rng),
        }
    }
}

fn log_normal(median: f64, sigma: f64, rng: &mut Pcg64Mcg) -> f64 {
    let normal: f64 = rng.sample(StandardNormal);
    median * (sigma * normal).exp()
}

/// By inversion of the distribution function.
fn pareto(exponent: f64, rng: &mut Pcg64Mcg) -> f64 {
    let uniform: f64 = rng.random();
    SCALE * (1.0 - uniform).powf(-1.0 / exponent)
}

fn zipf(exponent: f64, rank: usize) -> f64 {
    ZIPF_TOP * (rank as f64).powf(-exponent)
}

/// Medians and sigmas are fitted to the file; 60 of its 256 shards are coarse.
fn few_coarse(shards: usize, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let coarse = shards * 60 / 256;
    let load = |shard| {
        let (median, sigma) = if shard < coarse { (722.0, 0.27) } else { (4.56, 0.53) };
        log_normal(median, sigma, rng)
    };
    let loads: Vec<f64> = (0..shards).map(load).collect();
    shuffled(loads, rng)
}

/// Medians and sigma are fitted to the file.
fn mostly_idle(shards: usize, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let busy = shards / 10;
    let load = |shard| log_normal(if shard < busy { SCALE } else { 0.01 }, 1.5, rng);
    let loads: Vec<f64> = (0..shards).map(load).collect();
    shuffled(loads, rng)
}

/// The sigma is fitted to the file.
fn one_key_half(shards: usize, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let mut loads: Vec<f64> = (1..shards).map(|_| log_normal(SCALE, 0.8, rng)).collect();
    loads.push(if shards == 1 { SCALE } else { loads.iter().sum() });
    shuffled(loads, rng)
}

fn shuffled(loads: impl IntoIterator<Item = f64>, rng: &mut Pcg64Mcg) -> Vec<f64> {
    let mut loads: Vec<f64> = loads.into_iter().collect();
    loads.shuffle(rng);
    loads
}
