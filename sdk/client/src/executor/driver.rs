//! Carries out what the holder decides: dials, sends, starts, stops, sleeps. It
//! waits for one thing at a time and for none of the application's code, so that
//! neither a slow start or stop nor a stuck load can delay a beat.

mod lease;
mod loads;
mod shards;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::holder::{Action, Finish};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tonic::transport::Channel;

use super::attempt::Attempts;
use super::doors::Door;
use super::instance::{Ending, Report};
use super::loads::{Book, Measured, Meter};
use super::preparing::Preparing;
use super::session::{Said, Session};
use super::shared::Shared;
use crate::dialer::{Dialer, Dialing};
use crate::{ConnectError, Shard, Shards};

pub(super) struct Driver<S> {
    shared: Arc<Shared>,
    shards: Arc<S>,
    line: Line,
    /// Every instance, by its shard.
    instances: HashMap<Arc<str>, Running>,
    preparing: Preparing,
    /// How long requests may delay the stop of a shard that moves.
    drain_within: Duration,
    /// Another process comes back for the shards after a goodbye.
    returning: bool,
    /// Of instances and preparations.
    tasks: JoinSet<()>,
    /// Nothing may run at present.
    lease_over: bool,
    reports: mpsc::UnboundedReceiver<Report>,
    report: mpsc::UnboundedSender<Report>,
    meter: Meter,
    book: Book,
    attempts: Attempts,
}

/// An instance from its start to the end of its stop.
struct Running {
    /// Taken when the order to stop was given.
    stop: Option<oneshot::Sender<Ending>>,
    door: Arc<Door>,
}

/// The connection to a server.
enum Line {
    Dialing(Dialing),
    Open(Dialer, Session),
    /// The stream broke and the holder has not said what next; `None` only while
    /// one of the others is exchanged for the next.
    Closed(Option<Dialer>),
}

/// What the driver waits for.
enum Event {
    Timeout,
    Ordered,
    Connected(Box<(Dialer, Channel)>),
    Said(Said),
    Reported(Report),
    Measured(Measured),
}

impl<S: Shards> Driver<S> {
    pub(super) fn new(
        shared: Arc<Shared>,
        shards: S,
        dialer: Dialer,
        drain_within: Duration,
        returning: bool,
    ) -> Result<Self, ConnectError> {
        let shards = Arc::new(shards);
        let (report, reports) = mpsc::unbounded_channel();
        Ok(Self {
            shared,
            meter: Meter::start(Arc::clone(&shards))?,
            shards,
            line: Line::Dialing(dialer.dial()),
            instances: HashMap::new(),
            preparing: Preparing::default(),
            drain_within,
            returning,
            tasks: JoinSet::new(),
            lease_over: true,
            reports,
            report,
            book: Book::default(),
            attempts: Attempts::default(),
        })
    }

    /// Runs until the holder is finished.
    pub(super) async fn run(mut self) {
        loop {
            if let Some(finish) = self.perform() {
                return self.shared.note(|progress| progress.finished = Some(finish));
            }
            self.mind_the_lease();
            self.shared.note(|_| ());
            let event = self.next().await;
            self.take(event);
            while self.tasks.try_join_next().is_some() {}
        }
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            () = self.shared.timeout() => Event::Timeout,
            event = self.line.next() => event,
            report = self.reports.recv() => match report {
                Some(report) => Event::Reported(report),
                // A sender is part of this very object.
                None => std::future::pending().await,
            },
            () = self.shared.ordered() => Event::Ordered,
            measured = self.meter.measured() => Event::Measured(measured),
        }
    }

    fn perform(&mut self) -> Option<Finish> {
        while let Some(action) = self.shared.tell(|holder, _| holder.poll_action()) {
            match action {
                Action::Send(message) => self.send(message),
                Action::Start(grant) => self.start(grant.into()),
                Action::Stop { shard, generation, reason } => {
                    self.order_stop(&Shard::new(shard, generation), reason);
                }
                Action::Prepare(preparation) => self.prepare(preparation),
                Action::Abandon(preparation) => self.abandon(&preparation.shard),
                Action::Reconnect(pace) => self.reconnect(pace),
                Action::LeaseOutlived => self.lease_outlived(),
                Action::Finished(finish) => return Some(finish),
            }
        }
        None
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Timeout => self.shared.tell(|holder, now| holder.handle_timeout(now)),
            Event::Ordered => {}
            Event::Connected(connected) => self.connected(*connected),
            Event::Said(Said::Message(response)) => self.hear(response),
            Event::Said(Said::Broken(status)) => self.broken(status),
            Event::Reported(report) => self.hear_report(report),
            Event::Measured(measured) => self.record(measured),
        }
    }
}

impl Line {
    /// Cancelling loses nothing.
    async fn next(&mut self) -> Event {
        match self {
            Self::Dialing(dialing) => Event::Connected(Box::new(dialing.await)),
            Self::Open(_, session) => Event::Said(session.said().await),
            Self::Closed(_) => std::future::pending().await,
        }
    }

    /// Ends the stream; `None` if another one is being opened already.
    fn close(&mut self) -> Option<Dialer> {
        match std::mem::replace(self, Self::Closed(None)) {
            Self::Open(dialer, _) => Some(dialer),
            Self::Closed(dialer) => dialer,
            dialing @ Self::Dialing(_) => {
                *self = dialing;
                None
            }
        }
    }
}
