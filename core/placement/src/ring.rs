//! Consistent hashing: who gets a shard if only names matter.
//!
//! An executor stands at 100 points of a ring of hashes; a shard belongs to the
//! first executor at or after its own hash. An executor that comes or goes
//! changes the owner only of shards it gets or had. Refuses to look at loads:
//! this is the baseline the other planners are measured against.

use xxhash_rust::xxh3::xxh3_64;

use crate::view::ExecutorIndex;

/// Points an executor has. Shares of the ring then deviate by about a tenth
/// (one over the root of 100); the Go ring that Matching came from has as many.
pub const VIRTUAL_NODES: u64 = 100;

/// The place of a shard key on every ring, on every machine and in every
/// version: XXH3 with 64 bits and no seed.
pub fn key_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

/// A ring of executors.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// In order of hash.
    points: Vec<(u64, ExecutorIndex)>,
}

impl Ring {
    /// The ring of these executors, whatever order they come in.
    pub fn new<'a>(executors: impl IntoIterator<Item = (ExecutorIndex, &'a str)>) -> Self {
        let mut executors: Vec<_> = executors.into_iter().collect();
        executors.sort_unstable_by_key(|&(_, id)| id);
        let mut points: Vec<_> = executors.into_iter().flat_map(points_of).collect();
        // Stable: where two points coincide, the lower id comes first.
        points.sort_by_key(|&(hash, _)| hash);
        Self { points }
    }

    /// Who gets the shard with this [`key_hash`]; `None` on an empty ring.
    pub fn owner(&self, key_hash: u64) -> Option<ExecutorIndex> {
        let next = self.points.partition_point(|&(hash, _)| hash < key_hash);
        self.points.get(next).or_else(|| self.points.first()).map(|&(_, executor)| executor)
    }
}

/// The points of one executor: the hash of its id, hashed with each number.
/// Not its id hashed with the number as XXH3's seed, which looks the same and is
/// not: up to three bytes are simply combined with the seed, so that hosts "100"
/// to "109" would share their points.
fn points_of((index, id): (ExecutorIndex, &str)) -> impl Iterator<Item = (u64, ExecutorIndex)> {
    let id = u128::from(xxh3_64(id.as_bytes())) << 64;
    (0..VIRTUAL_NODES).map(move |node| (xxh3_64(&(id | u128::from(node)).to_le_bytes()), index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(ids: &[&'static str]) -> Ring {
        Ring::new((0u32..).map(ExecutorIndex).zip(ids.iter().copied()))
    }

    fn owners(ring: &Ring) -> Vec<ExecutorIndex> {
        (0..2000).filter_map(|key| ring.owner(key_hash(&key.to_string()))).collect()
    }

    #[test]
    fn an_empty_ring_owns_nothing() {
        assert_eq!(Ring::default().owner(7), None);
    }

    #[test]
    fn the_hash_of_a_key_is_fixed_for_good() {
        // The value that XXH3 itself documents for no input, and one of ours.
        assert_eq!(key_hash(""), 0x2d06_8005_38d3_94c2);
        assert_eq!(key_hash("orders-tasklist"), 11_715_060_350_539_001_140);
    }

    #[test]
    fn a_hash_past_the_last_point_wraps_to_the_first() {
        let ring = ring(&["a", "b"]);
        assert_eq!(ring.owner(u64::MAX), Some(ring.points[0].1));
    }

    #[test]
    fn no_two_executors_share_a_point() {
        let names: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let ring = Ring::new((0u32..).map(ExecutorIndex).zip(names.iter().map(String::as_str)));
        assert!(ring.points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn shares_are_even_to_about_a_tenth() {
        let owners = owners(&ring(&["0", "1", "2", "3"]));
        for index in 0..4 {
            let share = owners.iter().filter(|owner| owner.0 == index).count();
            assert!((375..=625).contains(&share), "{share} of 2000");
        }
    }

    #[test]
    fn one_executor_more_moves_only_what_it_gets() {
        let before = owners(&ring(&["a", "b", "c"]));
        let after = owners(&ring(&["a", "b", "c", "d"]));
        let moved: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
        assert!(!moved.is_empty());
        assert!(moved.iter().all(|(_, new)| new.0 == 3));
    }

    #[test]
    fn the_order_of_executors_does_not_matter() {
        let names = ["a", "b", "c"];
        let turned = ["c", "a", "b"];
        let by_name = |ring: &Ring, ids: [&'static str; 3]| -> Vec<&str> {
            owners(ring).into_iter().map(|owner| ids[owner.0 as usize]).collect()
        };
        assert_eq!(by_name(&ring(&names), names), by_name(&ring(&turned), turned));
    }
}
