//! Snapshots from formulas and a seed.
//!
//! The formulas are those of the generated files in `data/snapshots`, fitted to
//! them where the files do not give a parameter; the draws are ours, so figures
//! agree in kind and, but for Zipf, not to the digit. The random numbers are
//! PCG's, the same on every machine; loads agree to the last bits of its `exp`.

mod family;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use crate::ring::{Ring, key_hash};
use crate::view::ExecutorIndex;

use family::Family;

use super::{Shard, Snapshot};

/// A recipe by name.
struct Recipe {
    name: &'static str,
    family: Family,
    shards: usize,
    hosts: usize,
    start: Start,
}

/// Who has a shard at the start.
#[derive(Clone, Copy)]
enum Start {
    /// As consistent hashing has it.
    HashRing,
    /// Hosts have the same number of shards, whichever they are.
    EvenCount,
}

/// The names with fixed numbers of shards and hosts, in order.
const RECIPES: [Recipe; 9] = [
    recipe("few-coarse", Family::FewCoarse, 256, 40, Start::EvenCount),
    recipe("large", Family::LogNormal(1.5), 16_000, 100, Start::HashRing),
    recipe("lognormal-1", Family::LogNormal(1.0), 2000, 24, Start::HashRing),
    recipe("lognormal-2", Family::LogNormal(2.0), 2000, 24, Start::HashRing),
    recipe("mostly-idle", Family::MostlyIdle, 5000, 50, Start::HashRing),
    recipe("one-key-half", Family::OneKeyHalf, 1024, 16, Start::HashRing),
    recipe("pareto-1.5", Family::Pareto(1.5), 3000, 30, Start::EvenCount),
    recipe("zipf-0.8", Family::Zipf(0.8), 1024, 20, Start::HashRing),
    recipe("zipf-1.1", Family::Zipf(1.1), 4096, 40, Start::HashRing),
];

const fn recipe(
    name: &'static str,
    family: Family,
    shards: usize,
    hosts: usize,
    start: Start,
) -> Recipe {
    Recipe { name, family, shards, hosts, start }
}

/// Sizes other than a name's own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Size {
    /// At least 1.
    pub shards: Option<usize>,
    /// At least 1.
    pub hosts: Option<usize>,
}

/// Why nothing was generated.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
pub enum GenerateError {
    #[error("no snapshot is called `{name}`: use one of {}, or lognormal-S, pareto-A or zipf-A with a number above 0", names().join(", "))]
    UnknownName { name: String },
    #[error("a snapshot needs at least one shard and one host, not {shards} and {hosts}")]
    Empty { shards: usize, hosts: usize },
}

/// The names with sizes of their own.
pub fn names() -> Vec<&'static str> {
    RECIPES.iter().map(|recipe| recipe.name).collect()
}

/// The snapshot of that name: one of [`names`], or `lognormal-S`, `pareto-A` or
/// `zipf-A` with a parameter above 0, which have 1,024 shards on 20 hosts from a
/// hash ring unless `size` says otherwise.
pub fn generate(name: &str, seed: u64, size: Size) -> Result<Snapshot, GenerateError> {
    let Recipe { family, shards, hosts, start, .. } = find(name)?;
    let (shards, hosts) = (size.shards.unwrap_or(shards), size.hosts.unwrap_or(hosts));
    if shards == 0 || hosts == 0 {
        return Err(GenerateError::Empty { shards, hosts });
    }
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let loads = family.loads(shards, &mut rng);
    let owners = start.owners(shards, hosts, &mut rng);
    let shard = |(key, (load, host)): (usize, (f64, usize))| Shard {
        key: key.to_string(),
        load,
        host: host.to_string(),
    };
    Ok(Snapshot {
        shards: loads.into_iter().zip(owners).enumerate().map(shard).collect(),
        hosts: (0..hosts).map(|host| host.to_string()).collect(),
    })
}

fn find(name: &str) -> Result<Recipe, GenerateError> {
    let fixed = RECIPES.into_iter().find(|recipe| recipe.name == name);
    let open = || Some(recipe("", Family::parse(name)?, 1024, 20, Start::HashRing));
    fixed.or_else(open).ok_or_else(|| GenerateError::UnknownName { name: name.into() })
}

impl Start {
    fn owners(self, shards: usize, hosts: usize, rng: &mut Pcg64Mcg) -> Vec<usize> {
        match self {
            Self::HashRing => on_ring(shards, hosts),
            Self::EvenCount => {
                let mut owners: Vec<usize> = (0..shards).map(|shard| shard % hosts).collect();
                owners.shuffle(rng);
                owners
            }
        }
    }
}

fn on_ring(shards: usize, hosts: usize) -> Vec<usize> {
    let names: Vec<String> = (0..hosts).map(|host| host.to_string()).collect();
    let ring = Ring::new((0u32..).map(ExecutorIndex).zip(names.iter().map(String::as_str)));
    let owner = |shard: usize| ring.owner(key_hash(&shard.to_string()));
    (0..shards).filter_map(owner).map(|owner| owner.0 as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(name: &str, seed: u64) -> Snapshot {
        generate(name, seed, Size::default()).unwrap()
    }

    #[test]
    fn every_name_has_the_shards_and_hosts_it_promises() {
        for Recipe { name, shards, hosts, .. } in RECIPES {
            let snapshot = plain(name, 1);
            assert_eq!((snapshot.shards.len(), snapshot.hosts.len()), (shards, hosts), "{name}");
        }
    }

    #[test]
    fn every_name_is_uneven_at_the_start_and_can_be_better() {
        for name in names() {
            let (start, bound) = (plain(name, 1).balance(), plain(name, 1).bound());
            assert!(start.max_over_mean() > 1.1, "{name}: {start:?}");
            assert!(start.max_over_mean() > bound.max_over_mean, "{name}");
            assert!(start.spread > bound.spread, "{name}");
        }
    }

    #[test]
    fn a_seed_is_a_snapshot() {
        assert_eq!(plain("lognormal-1", 7), plain("lognormal-1", 7));
        assert_ne!(plain("lognormal-1", 7), plain("lognormal-1", 8));
    }

    #[test]
    fn half_of_all_load_is_on_one_key() {
        let loads: Vec<f64> = plain("one-key-half", 3).shards.iter().map(|s| s.load).collect();
        let largest = loads.iter().copied().fold(0.0, f64::max);
        assert!((largest / loads.iter().sum::<f64>() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_zipf_bound_agrees_with_the_file_whatever_the_seed() {
        // data/snapshots/README.md, row zipf-0.8.
        let bound = plain("zipf-0.8", 99).bound();
        assert!((bound.max_over_mean - 1.285).abs() < 5e-4, "{bound:?}");
        assert!((bound.spread - 0.0654).abs() < 5e-5, "{bound:?}");
    }

    #[test]
    fn sizes_and_parameters_are_free() {
        let size = Size { shards: Some(50), hosts: Some(7) };
        let snapshot = generate("pareto-2.5", 1, size).unwrap();
        assert_eq!((snapshot.shards.len(), snapshot.hosts.len()), (50, 7));
        assert_eq!(plain("lognormal-0.5", 1).shards.len(), 1024);
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_there_are() {
        for name in ["nonsense", "zipf-", "zipf--1", "zipf-0", "zipf-NaN", "lognormal-inf"] {
            let message = generate(name, 1, Size::default()).unwrap_err().to_string();
            let listed = "few-coarse, large, lognormal-1, lognormal-2, mostly-idle, one-key-half, \
                          pareto-1.5, zipf-0.8, zipf-1.1";
            assert!(message.starts_with(&format!("no snapshot is called `{name}`")), "{message}");
            assert!(message.contains(listed), "{message}");
        }
    }

    #[test]
    fn nothing_at_all_is_refused() {
        let size = Size { shards: Some(0), hosts: None };
        assert_eq!(generate("large", 1, size), Err(GenerateError::Empty { shards: 0, hosts: 100 }));
    }

    #[test]
    fn a_generated_snapshot_survives_being_written_and_read() {
        let snapshot = plain("few-coarse", 5);
        assert_eq!(Snapshot::parse(&snapshot.to_string()), Ok(snapshot));
    }
}
