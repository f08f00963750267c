//! What the machine remembers of one executor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;
use plimsoll_placement::view::Candidacy;

use crate::capacity::{self, CAPACITY_LABEL};
use crate::ids::{SessionId, ShardId};
use crate::message::NextOwner;
use crate::settings::Settings;

/// The metadata key under which an executor says where it can be reached, as the
/// Go executors do.
pub const ADDRESS_LABEL: &str = "grpc_address";

/// The metadata key under which an executor says which version of its program it
/// runs.
pub const VERSION_LABEL: &str = "plimsoll.version";

/// Free text that an executor says of itself.
pub type Labels = Arc<BTreeMap<String, String>>;

#[derive(Debug)]
pub(crate) struct Executor {
    pub(crate) id: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) metadata: Labels,
    pub(crate) link: Link,
    /// Of its last hello; 0: none, or it does not count them.
    pub(crate) attempt: u64,
    /// The lease that its last welcome gave. It counts on that one, whatever
    /// the settings say since.
    pub(crate) told_lease: Duration,
    /// An earlier welcome, or an earlier server, may have given it until then,
    /// and it may not have read the next welcome yet.
    promised_until: Time,
    /// The namespace was created with it in mind: no earlier server can have
    /// promised it anything.
    pub(crate) expected: bool,
    /// Since when it may be given shards; `None`: it was there when the server
    /// started.
    pub(crate) opened_at: Option<Time>,
    /// Since when its version is what it is; `None`: for long, or it says none.
    pub(crate) version_since: Option<Time>,
    /// It answers what it is told to prepare.
    pub(crate) prepares: bool,
    /// It had a session with the server before this one and is to begin another:
    /// what it is given meanwhile, its welcome tells.
    pub(crate) rejoins: bool,
    /// It said goodbye and that it comes back: it runs nothing, and until then
    /// its shards are kept for it.
    pub(crate) away_until: Option<Time>,
    /// It wants no (more) work.
    pub(crate) leaving: bool,
    /// Its host is drained.
    pub(crate) drained: bool,
    /// Of the last heartbeat received, or when the server began to wait for it.
    pub(crate) last_heard: Time,
    /// A mass failure: it is not called dead before then.
    pub(crate) held_until: Option<Time>,
    /// Every shard whose `owner` it is, in no order.
    pub(crate) shards: Vec<ShardId>,
    /// Smoothed load of its measured shards, as of their last reports.
    pub(crate) load: f64,
    /// How many of its shards have been measured.
    pub(crate) measured: usize,
    /// The last status on the Go wire; 0 for sessions.
    pub(crate) wire_status: i32,
}

/// How an executor speaks with us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Link {
    /// It is known from the store only.
    Unheard,
    /// It has a session, or had one a moment ago.
    Session(Option<SessionId>),
    /// It sends unary heartbeats.
    Unary,
}

impl Executor {
    pub(crate) fn new(id: Arc<str>, host: Arc<str>, link: Link, now: Time) -> Self {
        Self {
            id,
            host,
            metadata: Labels::default(),
            link,
            attempt: 0,
            told_lease: Duration::ZERO,
            promised_until: now,
            expected: false,
            opened_at: (link != Link::Unheard).then_some(now),
            version_since: None,
            prepares: false,
            rejoins: false,
            away_until: None,
            leaving: false,
            drained: false,
            last_heard: now,
            held_until: None,
            shards: Vec::new(),
            load: 0.0,
            measured: 0,
            wire_status: 0,
        }
    }

    /// How long it may be silent. One that has not spoken since the server
    /// started may speak either wire, so it gets the longer lease.
    pub(crate) fn lease(&self, settings: &Settings) -> Duration {
        match self.link {
            Link::Session(_) => self.told_lease,
            Link::Unary => settings.heartbeat_ttl,
            Link::Unheard => settings.lease.max(settings.heartbeat_ttl),
        }
    }

    /// When it is called dead if nothing is heard.
    pub(crate) fn expires_at(&self, settings: &Settings) -> Time {
        if let Some(until) = self.away_until {
            return until;
        }
        let lease_end = self.lease_end(settings);
        self.held_until.map_or(lease_end, |until| until.max(lease_end))
    }

    /// It is not called dead before then: somebody may have told it so.
    pub(crate) fn promise_until(&mut self, until: Time) {
        self.promised_until = self.promised_until.max(until);
    }

    /// Until when an earlier welcome may hold.
    pub(crate) fn promised_until(&self) -> Time {
        self.promised_until
    }

    fn lease_end(&self, settings: &Settings) -> Time {
        (self.last_heard + self.lease(settings)).max(self.promised_until)
    }

    /// A session begins, perhaps with a shorter lease than there was before.
    pub(crate) fn begin_session(&mut self, now: Time, session: SessionId, settings: &Settings) {
        self.promised_until = if self.expected { now } else { self.lease_end(settings) };
        self.expected = false;
        self.link = Link::Session(Some(session));
        self.told_lease = settings.lease;
        self.heard(now);
    }

    pub(crate) fn session(&self) -> Option<SessionId> {
        match self.link {
            Link::Session(session) => session,
            Link::Unary | Link::Unheard => None,
        }
    }

    /// Whether it may be given shards. One that has lost its session, or has
    /// not been heard yet, keeps what it has and gets nothing.
    pub(crate) fn candidacy(&self) -> Candidacy {
        let in_touch = matches!(self.link, Link::Session(Some(_)) | Link::Unary) || self.rejoins;
        if self.drained {
            Candidacy::Drained
        } else if self.leaving {
            Candidacy::Leaving
        } else if !in_touch || self.held_until.is_some() {
            Candidacy::Silent
        } else {
            Candidacy::Open
        }
    }

    /// What it can carry beside the others: what the settings say of its host,
    /// or else what it says of itself, or else 1.
    pub(crate) fn capacity(&self, settings: &Settings) -> f64 {
        let declared = || self.metadata.get(CAPACITY_LABEL).and_then(|text| capacity::parse(text));
        settings.host_capacities.of(&self.host).or_else(declared).unwrap_or(1.0)
    }

    /// Its host is drained, or is not any more.
    pub(crate) fn set_drained(&mut self, now: Time, drained: bool) {
        if self.drained && !drained {
            self.opened_at = Some(now);
        }
        self.drained = drained;
    }

    /// It owns nothing and wants nothing: its silence says nothing.
    pub(crate) fn has_left(&self) -> bool {
        self.leaving && self.shards.is_empty()
    }

    /// Its silence says something.
    pub(crate) fn is_expected_to_beat(&self) -> bool {
        !self.has_left() && self.away_until.is_none()
    }

    /// This server has heard of it what it runs.
    pub(crate) fn has_been_heard(&self) -> bool {
        self.link != Link::Unheard && !self.rejoins
    }

    /// It says something else of itself. Whether it has just changed its version
    /// is not known of one that only the records knew.
    pub(crate) fn set_metadata(&mut self, now: Time, metadata: Labels) {
        let version = self.version().map(str::to_owned);
        let known = version.is_some() || self.opened_at.is_some();
        self.metadata = metadata;
        if self.version() != version.as_deref() {
            self.version_since = known.then_some(now);
        }
    }

    /// Which version of its program it says it runs.
    pub(crate) fn version(&self) -> Option<&str> {
        self.metadata.get(VERSION_LABEL).map(String::as_str)
    }

    /// As the executor that a shard goes to.
    pub(crate) fn as_next_owner(&self) -> NextOwner {
        let address = self.metadata.get(ADDRESS_LABEL).map_or("", String::as_str);
        NextOwner { executor: self.id.clone(), address: Arc::from(address) }
    }

    /// A sign of life.
    pub(crate) fn heard(&mut self, now: Time) {
        self.last_heard = now;
        self.held_until = None;
    }

    /// One word for people.
    pub(crate) fn status(&self) -> &'static str {
        match self.candidacy() {
            Candidacy::Open => "active",
            Candidacy::Drained => "drained",
            Candidacy::Leaving => "leaving",
            Candidacy::Silent if self.away_until.is_some() => "away",
            Candidacy::Silent => "silent",
        }
    }

    /// Which wire it speaks.
    pub(crate) fn protocol(&self) -> &'static str {
        match self.link {
            Link::Session(_) => "session",
            Link::Unary => "unary",
            Link::Unheard => "unheard",
        }
    }
}
