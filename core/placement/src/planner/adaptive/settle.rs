//! Steps until none is worth it, or the budget is spent.

use std::collections::{BTreeSet, BinaryHeap};

use crate::load::Ordered;

use super::exchange;
use super::field::Field;
use super::leg::Leg;
use super::shelf::Book;
use super::worth::Way;

/// Hosts that are asked before a host is taken to be stuck.
const PARTNERS: usize = 64;

/// Receivers that are weighed against each other.
const RECEIVERS: usize = 4;

/// Books that are weighed against each other, the largest that fit: of those as
/// large, the cheapest to move.
const BOOKS: usize = 32;

/// From this part of a host's share on, a shard is placed before smaller ones take
/// the room for it.
const LARGE: f64 = 0.25;

/// How many more shards may move.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    /// Hosts, as ranks, for which a step was worth it and not to be had.
    refused: BTreeSet<u32>,
}

impl Budget {
    pub(super) fn new(moves: usize) -> Self {
        Self { left: moves, refused: BTreeSet::new() }
    }

    pub(super) fn was_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    pub(super) fn was_refused_to(&self, rank: u32) -> bool {
        self.refused.contains(&rank)
    }

    /// Spends what the legs cost; `false`, and nothing spent, if that is more
    /// than is left.
    pub(super) fn spend(&mut self, field: &Field<'_>, legs: &[Leg]) -> bool {
        let count = |counts: fn(&Field<'_>, &Leg) -> bool| {
            legs.iter().filter(|leg| counts(field, leg)).count()
        };
        let refunded = count(|field, leg| is_counted(field, leg, leg.from));
        let spent = count(|field, leg| is_counted(field, leg, leg.to));
        let Some(left) = (self.left + refunded).checked_sub(spent) else {
            self.refused.extend(legs.iter().flat_map(|leg| [leg.from, leg.to]));
            return false;
        };
        self.left = left;
        true
    }
}

/// Whether a shard counts as moved while it is there, where a host that had
/// nothing is filled for nothing.
fn is_counted(field: &Field<'_>, leg: &Leg, at: u32) -> bool {
    leg.is_away(at) && !field.was_empty(at)
}

pub(super) fn settle(field: &mut Field<'_>, budget: &mut Budget) {
    if field.level <= 0.0 || !field.is_anyone_off() {
        return;
    }
    loop {
        let cooled = cool(field, budget);
        let warmed = warm(field, budget);
        if !(cooled || warmed || exchange::even_out(field, budget)) {
            return;
        }
    }
}

/// Hot hosts give until none is hot or none can: large shards first, which need
/// the room that others would take from them, then what gains most, which spends
/// a small budget best.
fn cool(field: &mut Field<'_>, budget: &mut Budget) -> bool {
    let mut offers: BinaryHeap<Offer> =
        field.hot_hosts().map(|rank| Offer::first(field, rank)).collect();
    let mut any = false;
    while let Some(offer) = offers.pop() {
        if offer.is_stale(field) || !field.is_hot(offer.rank) {
            continue;
        }
        let best = give(field, offer.rank);
        let Some(&leg) = best.legs.first() else { continue };
        let urgency = Urgency::of(field, &leg, best.merit);
        if urgency < offer.urgency {
            offers.push(Offer { urgency, ..offer });
            continue;
        }
        if budget.spend(field, &[leg]) {
            field.take(&[leg]);
            offers.extend([leg.from, leg.to].map(|rank| Offer::first(field, rank)));
            any = true;
        }
    }
    any
}

/// What goes first: of large shards the largest, then what has the most merit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Urgency {
    Merit(Ordered),
    Large(Ordered),
}

impl Urgency {
    fn of(field: &Field<'_>, leg: &Leg, merit: f64) -> Self {
        let load = leg.book.load;
        match load > LARGE * field.level * field.host(leg.to).capacity {
            true => Self::Large(Ordered(load)),
            false => Self::Merit(Ordered(merit)),
        }
    }
}

/// A hot host in the queue.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Offer {
    /// Of what it would give; at first, at least that.
    urgency: Urgency,
    rank: u32,
    /// When it got into the queue.
    heat: Ordered,
}

impl Offer {
    fn first(field: &Field<'_>, rank: u32) -> Self {
        Self {
            urgency: Urgency::Large(Ordered(f64::INFINITY)),
            rank,
            heat: Ordered(field.heat(rank)),
        }
    }

    fn is_stale(&self, field: &Field<'_>) -> bool {
        self.heat != Ordered(field.heat(self.rank))
    }
}

/// What a hot host gives next. If what it could give one by one without a detour
/// would not bring it down, the shard that gains most although it is too large:
/// now, while there is still room for it.
fn give(field: &Field<'_>, from: u32) -> Best {
    let lacking = field.excess(from) - field.sheddable(from);
    let receivers = field.coldest_first().take(RECEIVERS).filter(|&to| to != from);
    let mut best = Best::default();
    let is_lacking =
        field.is_far_off(from) && lacking > field.tolerance(from) * field.host(from).capacity;
    let way = if is_lacking { Way::Detour } else { Way::Direct };
    for to in receivers {
        let books = field.shelf(from);
        let books = if is_lacking {
            books.books()
        } else {
            largest(books.up_to(field.excess(from).min(field.room(to))))
        };
        let room = field.room(to);
        for &book in books {
            let leg = Leg { book, from, to };
            let fits = book.load <= room || field.may_overfill(to, book.load);
            if fits && (!is_lacking || field.is_worth_a_hole(&leg)) {
                best.offer(field, from, to, &[leg], way);
            }
        }
    }
    best
}

/// Cold hosts are given to, coldest first, until none is cold or none can be.
fn warm(field: &mut Field<'_>, budget: &mut Budget) -> bool {
    let mut any = false;
    let cold: Vec<u32> = field.coldest_first().take_while(|&rank| field.is_cold(rank)).collect();
    for rank in cold {
        while field.is_cold(rank) {
            let Some(leg) = ask(field, rank).filter(|leg| budget.spend(field, &[*leg])) else {
                break;
            };
            field.take(&[leg]);
            any = true;
        }
    }
    any
}

/// What a cold host gets next, from the hottest that has something fitting.
fn ask(field: &Field<'_>, to: u32) -> Option<Leg> {
    let room = field.room(to);
    field.hottest_first().take(PARTNERS).find_map(|from| {
        let limit = room.min(field.spare(from));
        let mut best = Best::default();
        for &book in largest(field.shelf(from).up_to(limit)) {
            best.offer(field, from, to, &[Leg { book, from, to }], Way::Direct);
        }
        best.legs.first().copied().filter(|_| from != to && limit > 0.0)
    })
}

fn largest(books: &[Book]) -> &[Book] {
    &books[books.len().saturating_sub(BOOKS)..]
}

/// The step with the greatest merit so far, if that is above zero.
#[derive(Debug, Default)]
pub(super) struct Best {
    merit: f64,
    pub(super) legs: Vec<Leg>,
}

impl Best {
    pub(super) fn offer(&mut self, field: &Field<'_>, from: u32, to: u32, legs: &[Leg], way: Way) {
        let is_pinned = |leg: &Leg| field.is_pinned(&leg.book, leg.from, leg.to);
        let merit = field.merit(from, to, legs, way);
        if merit > self.merit && !legs.iter().any(is_pinned) {
            self.merit = merit;
            self.legs.clear();
            self.legs.extend_from_slice(legs);
        }
    }
}
