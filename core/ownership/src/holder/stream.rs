//! The stream and the lease: beats, hanging up, the last word.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use super::link::Link;
use super::{Action, Holder, Intent, Outgoing, Pace, StopReason};
use crate::message::LeaseEnd;

impl Holder {
    /// Stops everything if the lease is over, or says that it outlives it. A
    /// stream on which it ran out is of no use.
    pub(super) fn expire(&mut self, now: Time) {
        match self.lease.expire(now) {
            None => return,
            Some(LeaseEnd::Stop) => {
                self.legacies.forget_all();
                self.stop_all(&StopReason::LeaseLost);
            }
            Some(LeaseEnd::Keep) => self.actions.push_back(Action::LeaseOutlived),
        }
        if matches!(self.link, Link::Up(_)) {
            self.hang_up(Pace::BackOff);
        }
    }

    pub(super) fn beat_or_give_up(&mut self, now: Time) {
        if self.lease.gives_up().is_some_and(|at| now >= at) {
            return self.hang_up(Pace::AtOnce);
        }
        if let Link::Up(beats) = &mut self.link
            && now >= beats.next()
        {
            self.sequence += 1;
            beats.send(now, self.sequence);
            let sequence = self.sequence;
            self.send(Outgoing::Beat { sequence });
        }
    }

    pub(super) fn hang_up(&mut self, pace: Pace) {
        if matches!(self.link, Link::Down) {
            return;
        }
        self.forget_unsent();
        self.link = Link::Down;
        self.actions.push_back(Action::Reconnect(pace));
    }

    /// What was to be said on an earlier stream is void: the next hello says it.
    pub(super) fn forget_unsent(&mut self) {
        self.actions.retain(|action| !matches!(action, Action::Send(_)));
    }

    /// Sends, if there is a stream on which shards can be talked about.
    pub(super) fn say(&mut self, message: Outgoing) {
        if let (Link::Greeting { .. }, Outgoing::Stopped { shard, generation, .. }) =
            (&self.link, &message)
        {
            let up_to = self.stopped_since_hello.entry(Arc::clone(shard)).or_default();
            *up_to = (*up_to).max(*generation);
        }
        if self.link.is_open() {
            self.send(message);
        }
    }

    pub(super) fn send(&mut self, message: Outgoing) {
        self.actions.push_back(Action::Send(message));
    }

    /// Takes the last step of a goodbye once nothing runs.
    pub(super) fn settle(&mut self, now: Time) {
        if !self.shards.is_empty() {
            return;
        }
        match self.intent {
            Intent::Part { returning } if self.link.is_open() => {
                self.send(Outgoing::Goodbye { returning });
                self.link = Link::Parting { goodbye_sent: now };
            }
            Intent::End(finish) => {
                self.intent = Intent::Over;
                self.actions.push_back(Action::Finished(finish));
            }
            _ => {}
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.intent, Intent::End(_) | Intent::Over)
    }

    /// A welcome that comes after the end of the lease that it gives is of no use: a
    /// server that hangs is left in time for another.
    pub(super) fn patience(&self) -> Duration {
        let patience = self.settings.patience;
        match (&self.link, self.lease.usable()) {
            (Link::Greeting { .. }, Some(usable)) => patience.min(usable),
            _ => patience,
        }
    }
}
