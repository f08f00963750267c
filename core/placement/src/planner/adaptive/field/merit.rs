//! What a step gains beyond what it costs, and which shard a host must keep.

use super::super::leg::Leg;
use super::super::shelf::Book;
use super::super::worth::{Side, Way};
use super::Field;

/// What sending a shard elsewhere than first thought costs, as a part of what a
/// move costs: enough not to go on for ever.
const RETHINK: f64 = 0.25;

impl Field<'_> {
    /// Whether the host and the coldest would be more even without that load.
    pub(in super::super) fn helps(&self, rank: u32, load: f64) -> bool {
        let coldest = self.coldest_first().find(|&coldest| coldest != rank);
        let gain = |to| self.worth.gain(self.side(rank), self.side(to), load);
        load > 0.0 && coldest.is_some_and(|to| gain(to) > 0.0)
    }

    /// What taking these legs gains beyond what it costs; each leg goes between
    /// the same two hosts, one way or the other.
    pub(in super::super) fn merit(&self, from: u32, to: u32, legs: &[Leg], way: Way) -> f64 {
        let net = |leg: &Leg| if leg.from == from { leg.book.load } else { -leg.book.load };
        let price = |leg: &Leg| self.price(leg, way);
        let gain = self.worth.gain(self.side(from), self.side(to), legs.iter().map(net).sum());
        gain - legs.iter().map(price).sum::<f64>()
    }

    /// Whether a host that is too hot gains more than a shard costs that is too
    /// large for its excess: others fill the hole that it leaves, so that in the
    /// end the excess is all that is gained.
    pub(in super::super) fn is_worth_a_hole(&self, leg: &Leg) -> bool {
        let side = self.side(leg.from);
        let at_share = Side { load: side.load - self.excess(leg.from), ..side };
        self.worth.relief(side, at_share) > self.price(leg, Way::Detour)
    }

    /// One that has left already costs little to send elsewhere. One that comes
    /// home was never moved; what is saved is counted as if it had left directly,
    /// so that no shard can gain by leaving and coming back.
    fn price(&self, leg: &Leg, way: Way) -> f64 {
        let price = |way| self.worth.price(way, leg.book.load, leg.book.cost.into());
        match (leg.is_home(leg.from), leg.is_home(leg.to)) {
            (true, _) => price(way),
            (false, true) => -price(Way::Direct),
            (false, false) => RETHINK * price(way),
        }
    }

    /// Whether the host must carry that shard: its largest, and more than its
    /// share. On no host of its size would things be better with it. Of two as
    /// large, it must carry one.
    pub(in super::super) fn is_pinned(&self, book: &Book, from: u32, to: u32) -> bool {
        let (host, other) = (self.host(from), self.host(to));
        book.load > self.level * host.capacity
            && other.capacity <= host.capacity
            && book.load > self.shelf(from).largest_fixed()
            && self.shelf(from).largest().is_some_and(|largest| largest.shard == book.shard)
    }
}
