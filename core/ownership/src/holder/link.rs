//! The stream to the server as the holder sees it: whether there is one, what was
//! said on it, and what is not acknowledged yet.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_placement::time::Time;

/// Beats closer than this would be a mistake of the server's settings.
const SHORTEST_BEAT: Duration = Duration::from_millis(1);

#[derive(Clone, Debug)]
pub(super) enum Link {
    /// No stream.
    Down,
    /// The hello is sent, the welcome has not come.
    Greeting { hello_sent: Time },
    /// Welcomed.
    Up(Beats),
    /// The goodbye is sent, the farewell has not come.
    Parting { goodbye_sent: Time },
}

/// The beats of one stream.
#[derive(Clone, Debug)]
pub(super) struct Beats {
    every: Duration,
    next: Time,
    /// When each beat was sent that is not acknowledged.
    sent: BTreeMap<u64, Time>,
}

impl Link {
    /// Whether shards can be talked about: after the hello, before the goodbye.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Greeting { .. } | Self::Up(_))
    }

    /// When an answer is overdue that is not a beat's.
    pub(super) fn overdue(&self, patience: Duration) -> Option<Time> {
        match self {
            Self::Greeting { hello_sent } => Some(*hello_sent + patience),
            Self::Parting { goodbye_sent } => Some(*goodbye_sent + patience),
            Self::Down | Self::Up(_) => None,
        }
    }
}

impl Beats {
    /// The first beat is due one interval after the hello.
    pub(super) fn new(every: Duration, hello_sent: Time) -> Self {
        let every = every.max(SHORTEST_BEAT);
        Self { every, next: hello_sent + every, sent: BTreeMap::new() }
    }

    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn send(&mut self, now: Time, sequence: u64) {
        self.sent.insert(sequence, now);
        self.next = now + self.every;
    }

    /// When the beat was sent, if it was sent on this stream and is news.
    pub(super) fn acknowledge(&mut self, sequence: u64) -> Option<Time> {
        let sent = self.sent.remove(&sequence)?;
        self.sent.retain(|later, _| *later > sequence);
        Some(sent)
    }
}
