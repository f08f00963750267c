//! One host in the field, with the shards that may leave it in order of load.

use std::cell::OnceCell;
use std::cmp::Ordering;

use crate::view::{ExecutorIndex, ShardIndex};

use super::worth::Side;

#[derive(Debug)]
pub(super) struct Host {
    pub(super) executor: ExecutorIndex,
    pub(super) capacity: f64,
    pub(super) load: f64,
    /// Of the sum of its loads.
    pub(super) variance: f64,
    /// The largest shard, until [`Host::shelf`] knows better.
    pub(super) largest_seen: f64,
    /// Built when it is first needed: most hosts are never asked.
    pub(super) shelf: OnceCell<Shelf>,
    /// It had nothing when the cycle began.
    pub(super) was_empty: bool,
}

/// A shard that may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Book {
    pub(super) load: f64,
    pub(super) key_hash: u64,
    pub(super) shard: ShardIndex,
    /// The rank of the host that it may stay on for nothing; none if it was only
    /// just put where it is.
    pub(super) home: Option<u32>,
    /// The rank of the host that had it when the cycle began.
    pub(super) origin: Option<u32>,
    pub(super) cost: f32,
}

/// Books in order of load; of equal loads, of hash.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    books: Vec<Book>,
    /// The largest shard that must stay.
    pub(super) largest_fixed: f64,
}

impl Host {
    pub(super) fn side(&self) -> Side {
        Side { load: self.load, capacity: self.capacity }
    }

    /// The largest shard on it.
    pub(super) fn largest(&self) -> f64 {
        match self.shelf.get() {
            Some(shelf) => shelf.largest().map_or(0.0, |book| book.load).max(shelf.largest_fixed),
            None => self.largest_seen,
        }
    }
}

impl Shelf {
    pub(super) fn new(mut books: Vec<Book>, largest_fixed: f64) -> Self {
        books.sort_unstable_by(Book::order);
        Self { books, largest_fixed }
    }

    pub(super) fn books(&self) -> &[Book] {
        &self.books
    }

    /// Of those as large, the one with the highest hash.
    pub(super) fn largest(&self) -> Option<&Book> {
        self.books.last()
    }

    /// The books of at most that load.
    pub(super) fn up_to(&self, load: f64) -> &[Book] {
        &self.books[..self.books.partition_point(|book| book.load <= load)]
    }

    /// The books next to that load on either side.
    pub(super) fn around(&self, load: f64) -> (Option<Book>, Option<Book>) {
        let above = self.books.partition_point(|book| book.load <= load);
        let below = above.checked_sub(1).and_then(|place| self.books.get(place));
        (below.copied(), self.books.get(above).copied())
    }

    pub(super) fn insert(&mut self, book: Book) {
        let place = self.books.partition_point(|other| other.order(&book).is_lt());
        self.books.insert(place, book);
    }

    pub(super) fn remove(&mut self, book: &Book) {
        if let Ok(place) = self.books.binary_search_by(|other| other.order(book)) {
            self.books.remove(place);
        }
    }
}

impl Book {
    fn order(&self, other: &Self) -> Ordering {
        let by_load = self.load.total_cmp(&other.load);
        by_load.then_with(|| (self.key_hash, self.shard).cmp(&(other.key_hash, other.shard)))
    }
}
