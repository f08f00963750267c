//! Room for a plan in the making, kept between plans, so that one that moves little
//! does not make room for everything.

use std::num::NonZeroU32;

use crate::sparse::Sparse;
use crate::standing::Host;

use super::adaptive::Slots;
use super::draft::Touched;

/// Empty between plans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desk {
    /// By shard: where in the moves of the plan it is.
    pub(super) moved: Vec<Option<NonZeroU32>>,
    /// By executor: what it carries, if a shard has come or gone.
    pub(super) touched: Sparse<Touched>,
    /// By rank: hosts before something is tried with them.
    pub(super) tried: Sparse<Host>,
    /// By rank: shards that may leave.
    pub(super) shelves: Slots,
}
