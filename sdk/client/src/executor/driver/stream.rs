//! The stream to a server, and what is said on it.

use std::time::Duration;

use plimsoll_ownership::holder::{Holding, Incoming, Outgoing, Pace};
use plimsoll_wire::v1;
use tonic::Status;
use tonic::transport::Channel;
use v1::session_request::Message;

use super::{Driver, Line};
use crate::Shards;
use crate::convert;
use crate::dialer::Dialer;
use crate::error::is_refusal;
use crate::executor::contact::Contact;
use crate::executor::session::Session;

impl<S: Shards> Driver<S> {
    pub(super) fn connected(&mut self, (dialer, channel): (Dialer, Channel)) {
        self.line = Line::Open(dialer, Session::open(channel));
        self.shared.tell(|holder, now| holder.connected(now));
    }

    pub(super) fn hear(&mut self, response: v1::SessionResponse) {
        for message in convert::incoming(response) {
            if let Incoming::Welcome { lease, beat, grants, .. } = &message {
                tracing::info!(
                    namespace = self.shared.identity.namespace,
                    executor = self.shared.identity.id,
                    ?lease,
                    ?beat,
                    shards = grants.len(),
                    "welcomed"
                );
                self.succeeded(*beat);
            }
            self.shared.tell(|holder, now| holder.handle(now, message));
        }
    }

    fn succeeded(&mut self, beat: Duration) {
        if let Line::Open(dialer, _) = &mut self.line {
            dialer.succeeded();
            dialer.set_steady_pace(beat);
        }
        self.shared.meet(Contact::Connected);
        self.shared.note(|progress| progress.refused = None);
    }

    pub(super) fn broken(&mut self, status: Option<Status>) {
        let Some(mut dialer) = self.line.close() else { return };
        let refused = status.as_ref().is_some_and(is_refusal);
        let progress = self.shared.progress();
        let first_failure = match &status {
            Some(status) => dialer.failed_with(status),
            None => dialer.failed(),
        };
        let first_refusal = refused && progress.refused.is_none();
        // A refusal before it came up is the error that `start` returns.
        if first_refusal && progress.came_up || first_failure && !refused {
            let error = status.as_ref().map_or("the stream ended", Status::message);
            let code = status.as_ref().map(Status::code);
            tracing::warn!(error, ?code, "the session broke, trying on");
        }
        self.shared.lose_touch();
        self.line = Line::Closed(Some(dialer));
        if refused {
            self.shared.note(|progress| progress.refused = status);
        }
        self.shared.tell(|holder, now| holder.disconnected(now));
    }

    pub(super) fn reconnect(&mut self, pace: Pace) {
        let Some(mut dialer) = self.line.close() else { return };
        self.shared.lose_touch();
        dialer.hurry_until(self.shared.lease_end());
        let hopeless = self.shared.progress().refused.is_some();
        self.line = Line::Dialing(match pace {
            _ if hopeless => dialer.dial_seldom(),
            Pace::Slowly => dialer.dial_seldom(),
            Pace::BackOff => dialer.dial_backed_off(),
            Pace::AtOnce => {
                dialer.rotate();
                dialer.dial_scattered()
            }
        });
    }
}

// === what is said ===

impl<S: Shards> Driver<S> {
    pub(super) fn send(&mut self, message: Outgoing) {
        let message = match message {
            Outgoing::Hello { running } => Some(self.hello(&running)),
            Outgoing::Beat { sequence } => Some(self.beat(sequence)),
            other => convert::request(other),
        };
        if let (Line::Open(_, session), Some(message)) = (&self.line, message) {
            session.send(message);
        }
    }

    fn hello(&mut self, running: &[Holding]) -> Message {
        self.book.tell_again();
        let identity = &self.shared.identity;
        Message::Hello(v1::Hello {
            namespace: identity.namespace.clone(),
            executor_id: identity.id.clone(),
            host: identity.host.clone(),
            metadata: self.shared.metadata().into_iter().collect(),
            running: running.iter().map(convert::holding).collect(),
            attempt: self.attempts.next(),
            prepares: true,
        })
    }

    /// Tells what was measured since the last beat and has the next round measured.
    fn beat(&mut self, sequence: u64) -> Message {
        let loads = self.book.changes();
        self.measure();
        let metadata = self.shared.changed_metadata();
        let metadata = metadata.map(|map| v1::Metadata { entries: map.into_iter().collect() });
        Message::Beat(v1::Beat { sequence, loads, metadata })
    }
}
