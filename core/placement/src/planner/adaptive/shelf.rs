//! The shards that may leave a host, in order of load.

use std::cell::RefCell;
use std::sync::OnceLock;

use crate::load::Ordered;
use crate::view::ShardIndex;

/// Room for the shelves of all hosts, by rank; empty between plans.
pub(in super::super) type Slots = Vec<OnceLock<Box<Shelf>>>;

/// The shelves that somebody asked for.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    slots: Slots,
    /// Whose they are.
    filled: RefCell<Vec<u32>>,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    books: Vec<Book>,
    /// The largest shard that must stay.
    fixed: Option<Weighed>,
}

/// A shard by load, and what breaks ties.
pub(super) type Weighed = (Ordered, u64, ShardIndex);

impl Shelves {
    /// Room for that many. The slots must be empty.
    pub(super) fn new(mut slots: Slots, hosts: usize) -> Self {
        slots.resize_with(hosts, OnceLock::new);
        Self { slots, filled: RefCell::default() }
    }

    /// That of a host; made now if nobody has asked before.
    pub(super) fn get(&self, rank: u32, make: impl FnOnce() -> Shelf) -> &Shelf {
        self.slots[rank as usize].get_or_init(|| {
            self.filled.borrow_mut().push(rank);
            Box::new(make())
        })
    }

    /// If somebody has asked for it.
    pub(super) fn get_mut(&mut self, rank: u32) -> Option<&mut Shelf> {
        self.slots[rank as usize].get_mut().map(Box::as_mut)
    }

    /// Empty again.
    pub(super) fn into_slots(self) -> Slots {
        let Self { mut slots, filled } = self;
        for rank in filled.into_inner() {
            slots[rank as usize].take();
        }
        slots
    }
}

impl Shelf {
    /// `fixed` is the largest shard that must stay.
    pub(super) fn new(mut books: Vec<Book>, fixed: Option<Weighed>) -> Self {
        books.sort_unstable_by_key(Book::weighed);
        Self { books, fixed }
    }

    /// The largest shard on the host.
    pub(super) fn largest_of_all(&self) -> Option<Weighed> {
        self.largest().map(Book::weighed).max(self.fixed)
    }

    /// The load of the largest shard that must stay.
    pub(super) fn largest_fixed(&self) -> f64 {
        self.fixed.map_or(0.0, |(load, ..)| load.0)
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
        let place = self.books.partition_point(|other| other.weighed() < book.weighed());
        self.books.insert(place, book);
    }

    pub(super) fn remove(&mut self, book: &Book) {
        if let Ok(place) = self.books.binary_search_by_key(&book.weighed(), Book::weighed) {
            self.books.remove(place);
        }
    }
}

impl Book {
    fn weighed(&self) -> Weighed {
        (Ordered(self.load), self.key_hash, self.shard)
    }
}
