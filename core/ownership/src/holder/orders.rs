//! What the server says, and what it makes of the shards.

use std::time::Duration;

use plimsoll_placement::time::Time;

use super::link::{Beats, Link};
use super::{FarewellReason, Finish, Holder, Incoming, Intent, Pace, Revocation, StopReason};
use crate::message::{Grant, LeaseEnd};

/// What a welcome says of the lease.
#[derive(Clone, Copy, Debug)]
struct Terms {
    lease: Duration,
    beat: Duration,
    lease_end: LeaseEnd,
}

impl Holder {
    /// The server said something on the present stream. What comes before the
    /// welcome is void: the welcome says it all.
    pub fn handle(&mut self, now: Time, message: Incoming) {
        self.expire(now);
        if matches!(self.link, Link::Down) {
            return;
        }
        match message {
            Incoming::Welcome { lease, beat, lease_end, grants, preparations } => {
                let terms = Terms { lease, beat, lease_end };
                if self.welcome(now, terms, grants) {
                    self.prepare_only(preparations);
                }
            }
            Incoming::Farewell(reason) => self.farewell(reason),
            _ if !self.is_welcome() => {}
            Incoming::Granted(grants) => self.grant_all(grants),
            Incoming::Revoked(revocations) => self.revoke_all(revocations),
            Incoming::Prepare(preparations) => self.prepare_all(preparations),
            Incoming::Abandon(preparations) => self.abandon_these(preparations),
            Incoming::BeatAck { sequence } => self.acknowledge(sequence),
        }
        self.settle(now);
    }

    /// Whether it was in time.
    fn welcome(&mut self, now: Time, terms: Terms, grants: Vec<Grant>) -> bool {
        let Link::Greeting { hello_sent } = self.link else { return false };
        self.lease.set(terms.lease, terms.lease_end, hello_sent);
        self.link = Link::Up(Beats::new(terms.beat, hello_sent));
        // Late or not: what others may have been given since must not run.
        self.stop_all_but(&grants);
        self.expire(now);
        if !self.link.is_open() {
            return false;
        }
        let stopped = std::mem::take(&mut self.stopped_since_hello);
        for grant in grants {
            if stopped.get(&grant.shard).is_none_or(|up_to| grant.generation > *up_to) {
                self.regrant(grant);
            }
        }
        self.announce_running();
        true
    }

    fn grant_all(&mut self, grants: Vec<Grant>) {
        for grant in grants {
            match self.shards.get_mut(&grant.shard) {
                Some(held) => held.grant(grant),
                None => self.start(grant),
            }
        }
    }

    fn regrant(&mut self, grant: Grant) {
        match self.shards.get_mut(&grant.shard) {
            Some(held) => held.regrant(grant),
            None => self.start(grant),
        }
    }

    fn revoke_all(&mut self, revocations: Vec<Revocation>) {
        for revocation in revocations {
            self.revoke(revocation);
        }
    }

    fn revoke(&mut self, revocation: Revocation) {
        let Revocation { shard, generation, reason, next } = revocation;
        let confirmed_later = match self.shards.get(&shard) {
            Some(held) => held.is_stopping() || held.generation <= generation,
            None => false,
        };
        if !confirmed_later {
            return self.confirm(shard, generation, None);
        }
        self.stop(&shard, StopReason::Revoked { reason, next });
        if let Some(held) = self.shards.get_mut(&shard) {
            held.confirm_up_to(generation);
        }
    }

    fn acknowledge(&mut self, sequence: u64) {
        if let Link::Up(beats) = &mut self.link
            && let Some(sent) = beats.acknowledge(sequence)
        {
            self.lease.renew(sent);
            self.legacies.heard(sequence);
        }
    }

    /// A farewell. After a goodbye any of them will do but that of a server which
    /// only hands the namespace on.
    fn farewell(&mut self, reason: FarewellReason) {
        let goodbye_meant = matches!(self.intent, Intent::Part { .. });
        match reason {
            FarewellReason::ServerLeaving => self.hang_up(Pace::AtOnce),
            FarewellReason::Replaced => self.end(Finish::Replaced, &StopReason::Replaced),
            _ if goodbye_meant => self.end(Finish::Goodbye, &StopReason::Shutdown),
            FarewellReason::Goodbye | FarewellReason::Expired => {
                self.lose_everything(&StopReason::LeaseLost, Pace::AtOnce);
            }
            FarewellReason::NamespaceDeleted => {
                self.lose_everything(&StopReason::NamespaceDeleted, Pace::Slowly);
            }
        }
    }

    fn lose_everything(&mut self, reason: &StopReason, pace: Pace) {
        self.lease.end();
        self.legacies.forget_all();
        self.stop_all(reason);
        self.hang_up(pace);
    }

    fn end(&mut self, finish: Finish, reason: &StopReason) {
        self.lease.end();
        self.abandon_all();
        self.stop_all(reason);
        self.forget_unsent();
        self.link = Link::Down;
        self.intent = Intent::End(finish);
    }
}
