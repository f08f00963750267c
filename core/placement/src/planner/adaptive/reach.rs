//! Which shards a round of moves may touch.

use crate::view::{ShardIndex, ShardView};

use super::super::draft::Draft;

/// Which shards may move.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    /// Those that this cycle had to place anyway.
    Placed,
    /// All that may leave their host for the sake of balance.
    All,
}

impl Reach {
    /// What nobody has measured stays: a guess must not cost anyone a move. While
    /// nothing at all is measured, shards are counted, and any of them will do.
    pub(super) fn includes(self, draft: &Draft<'_>, index: ShardIndex, shard: &ShardView) -> bool {
        let is_known = shard.load.is_some() || !draft.anything_measured();
        let may_leave = is_known && !shard.fixed && !draft.is_cooling(index, shard);
        match self {
            Self::Placed => may_leave && draft.is_moved(index),
            Self::All => may_leave,
        }
    }
}
