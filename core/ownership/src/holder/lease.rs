//! How long an executor may go on without hearing from the server, as the
//! executor itself counts it: from the moment it sent the last message that was
//! acknowledged, less a margin. The server counts the whole lease from when it
//! received that message, which was later: so the executor ends first.

use std::time::Duration;

use plimsoll_placement::time::Time;

use crate::message::LeaseEnd;

/// The lease of one executor; over until first renewed.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    /// One part in so many of the lease is left unused.
    margin_divisor: u32,
    /// What the server gives, less the margin.
    usable: Duration,
    /// When the last acknowledged message was sent.
    proven: Option<Time>,
    /// What its end means here.
    at_end: LeaseEnd,
    /// It has ended, that was told, and the shards run on.
    outlived: bool,
}

impl Lease {
    pub(super) fn new(margin_divisor: u32) -> Self {
        Self {
            margin_divisor,
            usable: Duration::ZERO,
            proven: None,
            at_end: LeaseEnd::Stop,
            outlived: false,
        }
    }

    /// A welcome: the server gives `lease` from what was sent at `sent`.
    pub(super) fn set(&mut self, lease: Duration, at_end: LeaseEnd, sent: Time) {
        let margin = lease.checked_div(self.margin_divisor).unwrap_or_default();
        self.usable = lease.saturating_sub(margin);
        self.at_end = at_end;
        self.outlived = false;
        self.proven = Some(sent);
    }

    /// An acknowledgement of what was sent at `sent`.
    pub(super) fn renew(&mut self, sent: Time) {
        self.proven = self.proven.map(|before| before.max(sent));
    }

    /// Over, until the next welcome, whatever its end means.
    pub(super) fn end(&mut self) {
        self.proven = None;
    }

    /// Ends it if its time has come; says so once.
    pub(super) fn expire(&mut self, now: Time) -> Option<LeaseEnd> {
        if self.ends().is_none_or(|end| now < end) {
            return None;
        }
        match self.at_end {
            LeaseEnd::Stop => self.end(),
            LeaseEnd::Keep => self.outlived = true,
        }
        Some(self.at_end)
    }

    /// When it ends; `None` if it has.
    pub(super) fn ends(&self) -> Option<Time> {
        self.proven.filter(|_| !self.outlived).map(|sent| sent + self.usable)
    }

    /// How much of a lease may be used; `None`: no server has told it yet.
    pub(super) fn usable(&self) -> Option<Duration> {
        (!self.usable.is_zero()).then_some(self.usable)
    }

    /// Whether shards may run.
    pub(super) fn holds(&self, now: Time) -> bool {
        let keeps = self.at_end == LeaseEnd::Keep;
        self.proven.is_some_and(|sent| keeps || now < sent + self.usable)
    }

    /// When a silent stream is given up: after three quarters, so that the last
    /// one is left for a hello on another. `None` if the lease is over.
    pub(super) fn gives_up(&self) -> Option<Time> {
        self.ends()?;
        self.proven.map(|sent| sent + self.usable / 4 * 3)
    }
}
