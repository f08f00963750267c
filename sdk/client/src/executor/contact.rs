//! Whether a server is in touch, and what its absence has led to.

/// How an executor stands with the servers: see
/// [`Executor::contact`](crate::Executor::contact).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Contact {
    /// A server is in touch.
    Connected,
    /// None is, yet or any more: shards run on while the lease lasts.
    Away,
    /// The lease has ended: every shard was told to stop, and none runs.
    LeaseEnded,
    /// The lease has ended, and the namespace's setting `lease_end` is `keep`: the
    /// shards run on. Others may have been given them meanwhile.
    LeaseOutlived,
}
