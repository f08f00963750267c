//! Where single moves are stuck: shards of two hosts change places.
//!
//! A host that is hot, or cold, and was not helped is compared with those at the
//! other end of the ladder. Of all pairs of shards, one from each, and of all
//! single shards, the step with the greatest merit is taken. Steps with a
//! detour carry more load than they even out, so they come last, and only for
//! hosts that are further from the level than noise explains.

use super::field::Field;
use super::leg::Leg;
use super::settle::{Best, Budget};
use super::worth::{Way, Worth};

/// Hosts at the other end that are looked at.
const PARTNERS: usize = 24;

/// Shards of the stuck host that are looked at: the lightest, which cost least.
const BOOKS: usize = 256;

/// Whether anything changed places.
pub(super) fn even_out(field: &mut Field<'_>, budget: &mut Budget) -> bool {
    // What was exchanged now might have to go on once they take their share.
    if field.awaits_newcomers() {
        return false;
    }
    let mut any = false;
    for rank in field.far_off() {
        while field.is_far_off(rank) {
            let legs = best_step(field, rank);
            if legs.is_empty() || !budget.spend(field, &legs) {
                break;
            }
            field.take(&legs);
            any = true;
        }
    }
    any
}

fn best_step(field: &Field<'_>, rank: u32) -> Vec<Leg> {
    let mut best = Best::default();
    if field.heat(rank) > 0.0 {
        for to in field.coldest_first().take(PARTNERS).filter(|&to| to != rank) {
            offer_pairs(field, rank, to, &mut best);
        }
    } else {
        for from in field.hottest_first().take(PARTNERS).filter(|&from| from != rank) {
            offer_pairs(field, from, rank, &mut best);
        }
    }
    best.legs
}

fn offer_pairs(field: &Field<'_>, from: u32, to: u32, best: &mut Best) {
    let net = Worth::best_net(field.side(from), field.side(to));
    if net <= 0.0 {
        return;
    }
    let (there, back) = (field.shelf(from).books(), field.shelf(to));
    for &book in there.iter().take(BOOKS) {
        let leg = Leg { book, from, to };
        // Up to there it evens them out, though one may end a little off the level.
        let way = if book.load <= net { Way::Direct } else { Way::Detour };
        best.offer(field, from, to, &[leg], way);
        let (below, above) = back.around(book.load - net);
        for book in [below, above].into_iter().flatten() {
            best.offer(field, from, to, &[leg, Leg { book, from: to, to: from }], Way::Detour);
        }
    }
}
