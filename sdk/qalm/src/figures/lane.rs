//! What became of the requests of one caller to one endpoint, by level.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_shedding::Criticality;
use plimsoll_shedding::signal::SignalKind;
use plimsoll_shedding::verdict::Reason;

const LEVELS: usize = Criticality::ALL.len();

/// Every reason, in the order of its counters.
const REASONS: [Reason; 11] = [
    Reason::Overload,
    Reason::PushedOut,
    Reason::QueueFull,
    Reason::CriticalSaturated,
    Reason::CallerShare,
    Reason::Resource(SignalKind::Cpu),
    Reason::Resource(SignalKind::Memory),
    Reason::Resource(SignalKind::Lag),
    Reason::Resource(SignalKind::Custom),
    Reason::Expired,
    Reason::ShuttingDown,
];

/// What became of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    Admitted,
    Refused(Reason),
    /// Admitted in dry-run, where it would have been refused.
    WouldRefuse(Reason),
}

impl Event {
    const COUNT: usize = 1 + 2 * REASONS.len();

    fn all() -> impl Iterator<Item = Self> {
        let refused = REASONS.into_iter().map(Self::Refused);
        let would = REASONS.into_iter().map(Self::WouldRefuse);
        std::iter::once(Self::Admitted).chain(refused).chain(would)
    }

    fn index(self) -> usize {
        match self {
            Self::Admitted => 0,
            Self::Refused(reason) => 1 + position(reason),
            Self::WouldRefuse(reason) => 1 + REASONS.len() + position(reason),
        }
    }

    /// The glossary's word: admitted, shed or expired.
    pub(crate) fn verdict(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused(Reason::Expired) => "expired",
            Self::Refused(_) => "shed",
            Self::WouldRefuse(_) => "would_be_shed",
        }
    }

    /// Empty if it was admitted.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Admitted => "",
            Self::Refused(reason) | Self::WouldRefuse(reason) => reason.as_str(),
        }
    }
}

fn position(reason: Reason) -> usize {
    match reason {
        Reason::Overload => 0,
        Reason::PushedOut => 1,
        Reason::QueueFull => 2,
        Reason::CriticalSaturated => 3,
        Reason::CallerShare => 4,
        Reason::Resource(SignalKind::Cpu) => 5,
        Reason::Resource(SignalKind::Memory) => 6,
        Reason::Resource(SignalKind::Lag) => 7,
        Reason::Resource(SignalKind::Custom) => 8,
        Reason::Expired => 9,
        Reason::ShuttingDown => 10,
    }
}

/// The counters of one caller, or of all that share its label, at one endpoint.
#[derive(Debug)]
pub(crate) struct LaneFigures {
    pub(crate) endpoint: Arc<str>,
    pub(crate) caller: Arc<str>,
    counts: [[AtomicU64; Event::COUNT]; LEVELS],
}

impl LaneFigures {
    pub(super) fn new(endpoint: Arc<str>, caller: Arc<str>) -> Self {
        let level = || std::array::from_fn(|_| AtomicU64::new(0));
        Self { endpoint, caller, counts: std::array::from_fn(|_| level()) }
    }

    pub(crate) fn count(&self, level: Criticality, event: Event) {
        self.counts[level.index()][event.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// All that ever happened.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Criticality, Event, u64)> {
        let levels = Criticality::ALL.into_iter();
        let all = levels.flat_map(|level| Event::all().map(move |event| (level, event)));
        all.map(|(level, event)| (level, event, self.of(level, event))).filter(|it| it.2 > 0)
    }

    fn of(&self, level: Criticality, event: Event) -> u64 {
        self.counts[level.index()][event.index()].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_counter_of_its_own() {
        let indices: Vec<usize> = Event::all().map(Event::index).collect();
        assert_eq!(indices, (0..Event::COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_counted_is_read_back() {
        let figures = LaneFigures::new("GET /".into(), "ads".into());
        figures.count(Criticality::Internal, Event::Admitted);
        figures.count(Criticality::Internal, Event::Refused(Reason::Expired));
        figures.count(Criticality::Internal, Event::Refused(Reason::Expired));
        let counts: Vec<_> = figures.counts().collect();
        assert_eq!(
            counts,
            [
                (Criticality::Internal, Event::Admitted, 1),
                (Criticality::Internal, Event::Refused(Reason::Expired), 2),
            ]
        );
    }
}
