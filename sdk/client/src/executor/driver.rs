//! Carries out what the holder decides: dials, sends, starts, stops, sleeps. It
//! waits for one thing at a time and for none of the application's code, so that
//! neither a slow start or stop nor a stuck load can delay a beat.

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_ownership::holder::{
    Action, Finish, Holding, Incoming, Outgoing, Pace, ShardPhase, StopReason,
};
use plimsoll_wire::v1;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::Channel;
use v1::session_request::Message;

use super::attempt::Attempts;
use super::instance::{self, Report};
use super::loads::{Book, Measured, Meter, Weight};
use super::session::{Said, Session};
use super::shared::{Counters, Shared};
use crate::convert;
use crate::dialer::{Dialer, Dialing};
use crate::error::is_refusal;
use crate::{ConnectError, Shard, Shards};

pub(super) struct Driver<S> {
    shared: Arc<Shared>,
    shards: Arc<S>,
    line: Line,
    /// Of every instance, how to order its stop; taken when that was done.
    stops: HashMap<Arc<str>, Option<oneshot::Sender<()>>>,
    instances: JoinSet<()>,
    reports: mpsc::UnboundedReceiver<Report>,
    report: mpsc::UnboundedSender<Report>,
    meter: Meter,
    book: Book,
    attempts: Attempts,
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
    ) -> Result<Self, ConnectError> {
        let shards = Arc::new(shards);
        let (report, reports) = mpsc::unbounded_channel();
        Ok(Self {
            shared,
            meter: Meter::start(Arc::clone(&shards))?,
            shards,
            line: Line::Dialing(dialer.dial()),
            stops: HashMap::new(),
            instances: JoinSet::new(),
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
            self.shared.note(|_| ());
            let event = self.next().await;
            self.take(event);
            while self.instances.try_join_next().is_some() {}
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

// === impl Driver: the stream ===

impl<S: Shards> Driver<S> {
    fn connected(&mut self, (dialer, channel): (Dialer, Channel)) {
        self.line = Line::Open(dialer, Session::open(channel));
        self.shared.tell(|holder, now| holder.connected(now));
    }

    fn hear(&mut self, response: v1::SessionResponse) {
        let Some(message) = convert::incoming(response) else { return };
        if let Incoming::Welcome { lease, beat, grants } = &message {
            tracing::info!(
                namespace = self.shared.identity.namespace,
                executor = self.shared.identity.id,
                ?lease,
                ?beat,
                shards = grants.len(),
                "welcomed"
            );
            self.succeeded();
        }
        self.shared.tell(|holder, now| holder.handle(now, message));
    }

    fn succeeded(&mut self) {
        if let Line::Open(dialer, _) = &mut self.line {
            dialer.succeeded();
        }
        self.shared.note(|progress| progress.refused = None);
    }

    fn broken(&mut self, status: Option<Status>) {
        let Some(mut dialer) = self.line.close() else { return };
        let refused = status.as_ref().is_some_and(is_refusal);
        let progress = self.shared.progress();
        let first_failure = match &status {
            Some(status) => dialer.failed_by(status),
            None => dialer.failed(),
        };
        let first_refusal = refused && progress.refused.is_none();
        // A refusal before it came up is the error that `start` returns.
        if first_refusal && progress.came_up || first_failure && !refused {
            let error = status.as_ref().map_or("the stream ended", Status::message);
            let code = status.as_ref().map(Status::code);
            tracing::warn!(error, ?code, "the session broke, trying on");
        }
        self.line = Line::Closed(Some(dialer));
        if refused {
            self.shared.note(|progress| progress.refused = status);
        }
        self.shared.tell(|holder, now| holder.disconnected(now));
    }

    fn reconnect(&mut self, pace: Pace) {
        let Some(mut dialer) = self.line.close() else { return };
        dialer.hurry_until(self.shared.lease_end());
        let hopeless = self.shared.progress().refused.is_some();
        self.line = Line::Dialing(match pace {
            _ if hopeless => dialer.dial_seldom(),
            Pace::Slowly => dialer.dial_seldom(),
            Pace::BackOff => dialer.dial_backed_off(),
            Pace::AtOnce => {
                dialer.rotate();
                dialer.dial()
            }
        });
    }
}

// === impl Driver: what the holder decides ===

impl<S: Shards> Driver<S> {
    fn perform(&mut self) -> Option<Finish> {
        while let Some(action) = self.shared.tell(|holder, _| holder.poll_action()) {
            match action {
                Action::Send(message) => self.send(message),
                Action::Start { shard, generation } => self.start(Shard { key: shard, generation }),
                Action::Stop { shard, generation, reason } => {
                    self.order_stop(&Shard { key: shard, generation }, &reason);
                }
                Action::Reconnect(pace) => self.reconnect(pace),
                Action::Finished(finish) => return Some(finish),
            }
        }
        None
    }

    fn send(&mut self, message: Outgoing) {
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

// === impl Driver: shards ===

impl<S: Shards> Driver<S> {
    fn start(&mut self, shard: Shard) {
        tracing::debug!(shard = shard.key(), generation = shard.generation(), "starting");
        let (stop, stopped) = oneshot::channel();
        self.stops.insert(Arc::clone(&shard.key), Some(stop));
        let (shards, report) = (Arc::clone(&self.shards), self.report.clone());
        self.instances.spawn(instance::run(shards, shard, stopped, report));
    }

    fn order_stop(&mut self, shard: &Shard, reason: &StopReason) {
        tracing::debug!(shard = shard.key(), ?reason, "stopping");
        match self.stops.get_mut(shard.key()) {
            // The instance waits for it, or will when its start is over.
            Some(stop) => drop(stop.take().map(|stop| stop.send(()))),
            // Its start failed after this was decided, and before it was carried out.
            None => self.stopped(shard),
        }
    }

    fn hear_report(&mut self, report: Report) {
        match report {
            Report::Started { shard, outcome } => self.started(&shard, outcome),
            Report::Stopped { shard } => self.stopped(&shard),
        }
    }

    fn started(&mut self, shard: &Shard, outcome: Result<(), String>) {
        if let Err(error) = &outcome {
            let (shard, generation) = (shard.key(), shard.generation());
            tracing::warn!(shard, generation, error, "the shard did not start");
            // An instance whose stop was ordered reports that it stopped, too.
            if self.stops.get(shard).is_some_and(Option::is_some) {
                self.stops.remove(shard);
            }
        }
        let (key, generation) = (shard.key(), shard.generation());
        self.shared.tell(|holder, now| holder.started(now, key, generation, outcome));
    }

    fn stopped(&mut self, shard: &Shard) {
        self.stops.remove(&shard.key);
        self.book.forget(&shard.key);
        let (key, generation) = (shard.key(), shard.generation());
        self.shared.tell(|holder, now| holder.stopped(now, key, generation));
    }
}

// === impl Driver: loads ===

impl<S: Shards> Driver<S> {
    fn measure(&mut self) {
        let running = self.shared.read(|holder, _| {
            let running = holder.shards().filter(|held| held.phase == ShardPhase::Running);
            running.map(|held| Arc::clone(held.shard)).collect()
        });
        if self.meter.is_late() {
            Counters::count(&self.shared.counters.loads_late);
        }
        if self.meter.ask(running) {
            tracing::warn!("the application's load does not return: no loads are told");
        }
    }

    fn record(&mut self, measured: Measured) {
        for (shard, weight) in measured {
            // It may have stopped while it was measured.
            if !self.stops.get(&shard).is_some_and(Option::is_some) {
                continue;
            }
            if !weight.is_valid() {
                Counters::count(&self.shared.counters.loads_refused);
            }
            if !self.book.record(Arc::clone(&shard), weight) {
                let (shard, Weight { load, move_cost }) = (&*shard, weight);
                tracing::warn!(
                    shard,
                    load,
                    move_cost,
                    "not told: a load is finite and not negative, a move cost finite and above 0"
                );
            }
        }
    }
}
