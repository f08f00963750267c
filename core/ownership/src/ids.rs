//! Small numbers instead of names. An executor's or a shard's number is used
//! again after it is gone; a session's and a request's never are.

/// An executor that the namespace knows.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ExecutorId(pub(crate) u32);

/// A shard that the namespace knows.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ShardId(pub(crate) u32);

/// One stream of one executor; the shell numbers them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(pub u64);

/// A question or an order that waits for its answer; the shell numbers them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestId(pub u64);

impl ExecutorId {
    pub(crate) fn of(slot: usize) -> Self {
        Self(slot_number(slot))
    }

    pub(crate) fn slot(self) -> usize {
        self.0 as usize
    }
}

impl ShardId {
    pub(crate) fn of(slot: usize) -> Self {
        Self(slot_number(slot))
    }

    pub(crate) fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Four thousand million slots are more than memory holds.
fn slot_number(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}
