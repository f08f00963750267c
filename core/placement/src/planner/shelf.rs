//! The shards of one host in order of load, to find in one binary search the one
//! that narrows a gap most: the nearest to its half.

use std::cmp::Ordering;

use crate::view::ShardIndex;

use super::draft::Draft;
use super::gap::Gap;

#[derive(Debug, Default)]
pub(super) struct Shelf {
    books: Vec<Book>,
}

#[derive(Clone, Copy, Debug)]
struct Book {
    load: f64,
    key_hash: u64,
    shard: ShardIndex,
}

impl Shelf {
    pub(super) fn new(draft: &Draft<'_>, shards: impl Iterator<Item = ShardIndex>) -> Self {
        Self::of(shards.map(|shard| Book::of(draft, shard)).collect())
    }

    fn of(mut books: Vec<Book>) -> Self {
        books.sort_unstable_by(Book::order);
        Self { books }
    }

    /// Takes out the shard that narrows the gap most; `None` if none does.
    pub(super) fn take_best(&mut self, gap: Gap) -> Option<ShardIndex> {
        self.best(gap).map(|place| self.books.remove(place).shard)
    }

    /// Of two as near to half the gap the lighter one, which does as much for
    /// less; of equal loads the lowest hash.
    fn best(&self, gap: Gap) -> Option<usize> {
        let half = gap.half();
        let above = self.books.partition_point(|book| book.load <= half);
        let below = above.checked_sub(1).map(|place| self.first_with(self.books[place].load));
        let fitting = |place: usize| self.get(place).filter(|&(_, load)| gap.fits(load));
        match (below.and_then(fitting), fitting(above)) {
            (Some((place, light)), Some((_, heavy))) if half - light <= heavy - half => Some(place),
            (lighter, heavier) => heavier.or(lighter).map(|(place, _)| place),
        }
    }

    fn first_with(&self, load: f64) -> usize {
        self.books.partition_point(|book| book.load < load)
    }

    fn get(&self, place: usize) -> Option<(usize, f64)> {
        self.books.get(place).map(|book| (place, book.load))
    }
}

impl Book {
    fn of(draft: &Draft<'_>, shard: ShardIndex) -> Self {
        let view = draft.shard(shard);
        Self { load: draft.weight(&view), key_hash: view.key_hash, shard }
    }

    fn order(&self, other: &Self) -> Ordering {
        let by_load = self.load.total_cmp(&other.load);
        by_load.then_with(|| (self.key_hash, self.shard).cmp(&(other.key_hash, other.shard)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(loads: &[f64]) -> Shelf {
        let books = (0u32..).zip(loads).map(|(index, &load)| Book {
            load,
            key_hash: u64::from(100 - index),
            shard: ShardIndex(index),
        });
        Shelf::of(books.collect())
    }

    fn best(loads: &[f64], gap: f64) -> Option<u32> {
        shelf(loads).take_best(Gap::between(gap, 0.0)).map(|shard| shard.0)
    }

    #[test]
    fn the_shard_nearest_to_half_the_gap_is_best() {
        assert_eq!(best(&[1.0, 4.0, 9.0], 10.0), Some(1));
        assert_eq!(best(&[1.0, 8.0, 9.0], 10.0), Some(1));
        assert_eq!(best(&[2.0, 9.0], 10.0), Some(0));
    }

    #[test]
    fn of_two_as_near_the_lighter_is_best() {
        assert_eq!(best(&[6.0, 4.0], 10.0), Some(1));
    }

    #[test]
    fn of_equal_loads_the_lowest_hash_is_best() {
        assert_eq!(best(&[4.0, 4.0, 4.0], 10.0), Some(2));
        assert_eq!(best(&[6.0, 6.0], 10.0), Some(1));
    }

    #[test]
    fn a_shard_of_the_gap_or_more_does_not_help() {
        assert_eq!(best(&[10.0, 11.0], 10.0), None);
    }

    #[test]
    fn an_idle_shard_does_not_help() {
        assert_eq!(best(&[0.0], 10.0), None);
        assert_eq!(best(&[0.0, 3.0], 0.0), None);
    }

    #[test]
    fn a_taken_shard_is_gone() {
        let mut shelf = shelf(&[4.0, 1.0]);
        assert_eq!(shelf.take_best(Gap::between(10.0, 0.0)), Some(ShardIndex(0)));
        assert_eq!(shelf.take_best(Gap::between(10.0, 0.0)), Some(ShardIndex(1)));
        assert_eq!(shelf.take_best(Gap::between(10.0, 0.0)), None);
    }
}
