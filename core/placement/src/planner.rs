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
mod desk;
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
use crate::standing::Standing;
use crate::time::Time;
use crate::view::View;

pub(crate) use desk::Desk;
use draft::Draft;
use verdict::Verdict;

/// The moves of one cycle, and why things stay as they are otherwise. Owners in
/// the view must be positions of its executors, and loads must have passed
/// [`check_load`](crate::load::check_load). Looks at everything: who plans again
/// and again keeps a [`Ledger`].
pub fn plan(now: Time, view: &View, policy: &Policy, scope: Scope) -> Plan {
    Ledger::of(view, *policy).plan(now, scope)
}

/// What one plan hands to the next.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    /// As it was, unless so much moved that it is better made anew.
    pub(crate) standing: Option<Standing>,
    pub(crate) desk: Desk,
}

/// The plan for what is in a ledger, where hosts stand like that.
pub(crate) fn plan_on(
    ledger: &Ledger,
    now: Time,
    scope: Scope,
    standing: Standing,
    desk: Desk,
) -> Outcome {
    let mut draft = Draft::new(now, ledger, standing, desk);
    let before = draft.balance();

    let unplaced = forced::place(&mut draft);
    let verdict = match scope {
        Scope::Forced => Verdict::default(),
        Scope::Frozen => frozen(&mut draft),
        Scope::Full => even_out(&mut draft),
    };

    let outcome = draft.into_outcome(before, unplaced, verdict);
    debug_assert_eq!(check(now, &ledger.view(), ledger.policy(), &outcome.plan), []);
    outcome
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

fn frozen(draft: &mut Draft<'_>) -> Verdict {
    let hot = match draft.policy.mode {
        Mode::Ring => Vec::new(),
        Mode::Naive => naive::hot(draft).into_iter().collect(),
        Mode::Greedy => greedy::hot(draft),
        Mode::Adaptive => adaptive::hot(draft),
    };
    Verdict::frozen(draft, hot)
}
