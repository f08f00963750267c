//! One cycle: from what is to what should be, with every reason.
//!
//! A plan is a list of phases over one draft. Work that is forced comes first
//! and costs no budget; then an executor that has nothing gets something; then
//! the mode of the namespace evens out the rest. A shard moves at most once.
//!
//! Refuses to carry anything out, to remember anything between cycles (that is for
//! the [`Ledger`]), and to touch a shard that is in handover.
//!
//! Deterministic, and blind to the order in which executors and shards are
//! listed: ties are settled by ids and key hashes, and sums do not depend on
//! the order of their parts.

mod adaptive;
mod draft;
mod fill_empty;
mod forced;
mod gap;
mod greedy;
mod ladder;
mod naive;
mod ring;
mod shelf;
mod verdict;

use crate::check::check;
use crate::ledger::Ledger;
use crate::plan::{Plan, Scope};
use crate::policy::{Mode, Policy};
use crate::time::Time;
use crate::view::View;

use draft::{Draft, Marks};
use verdict::Verdict;

/// The moves of one cycle, and why things stay as they are otherwise. Owners in
/// the view must be positions of its executors, and loads must have passed
/// [`check_load`](crate::load::check_load). Looks at everything: who plans again
/// and again keeps a [`Ledger`].
pub fn plan(now: Time, view: &View, policy: &Policy, scope: Scope) -> Plan {
    Ledger::of(view, *policy).plan(now, scope)
}

/// The plan for what is in a ledger, and the room for marks that it was given.
pub(crate) fn plan_on(ledger: &Ledger, now: Time, scope: Scope, marks: Marks) -> (Plan, Marks) {
    let mut draft = Draft::new(now, ledger, marks);
    let before = draft.balance();

    let unplaced = forced::place(&mut draft);
    let verdict = match scope {
        Scope::Forced => Verdict::default(),
        Scope::Frozen => frozen(&draft),
        Scope::Full => even_out(&mut draft),
    };

    let (plan, marks) = draft.into_plan(before, unplaced, verdict);
    debug_assert_eq!(check(now, &ledger.view(), ledger.policy(), &plan), []);
    (plan, marks)
}

fn even_out(draft: &mut Draft<'_>) -> Verdict {
    match draft.policy.mode {
        Mode::Ring => ring::follow(draft),
        Mode::Naive => {
            fill_empty::fill(draft);
            naive::balance(draft)
        }
        Mode::Greedy => {
            fill_empty::fill(draft);
            greedy::balance(draft)
        }
        Mode::Adaptive => adaptive::balance(draft),
    }
}

fn frozen(draft: &Draft<'_>) -> Verdict {
    match draft.policy.mode {
        Mode::Ring => Verdict::frozen(draft, []),
        Mode::Naive => Verdict::frozen(draft, naive::hot(draft)),
        Mode::Greedy => Verdict::frozen(draft, greedy::hot(draft)),
        Mode::Adaptive => Verdict::frozen(draft, adaptive::hot(draft)),
    }
}
