//! The last events of a namespace, for people who ask what happened. The newest go
//! with a leadership that is handed over; a leader that begins from the records begins
//! a history anew.

use std::collections::VecDeque;

use parking_lot::Mutex;
use plimsoll_ownership::event::Event;
use plimsoll_wire::v1;
use prost::Message;
use prost_types::Timestamp;

/// Events kept a namespace.
const KEPT: usize = 20_000;
/// The most that the next leader is given.
const HANDED: usize = 1_000;
const HANDED_BYTES: usize = 1024 * 1024;

/// The last events.
#[derive(Debug, Default)]
pub struct History {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// What the leaders before told, oldest first: their clocks are not this one's.
    before: Vec<v1::Event>,
    /// Of this leader, oldest first.
    events: VecDeque<Event>,
}

/// Which events somebody asks for; by default all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Empty: of any.
    pub shard: &'a str,
    /// An executor or a host. Empty: of any.
    pub executor: &'a str,
    /// As on the wire. Empty: of any.
    pub kinds: &'a [String],
    /// Milliseconds since 1970: as fine as events are told. `None`: up to now.
    pub until_ms: Option<u64>,
}

impl History {
    /// Adds an event and forgets the oldest if there are too many.
    pub fn push(&self, event: Event) {
        let mut kept = self.kept.lock();
        if kept.events.len() == KEPT {
            kept.events.pop_front();
            kept.before.clear();
        }
        kept.events.push_back(event);
    }

    /// What the leader before handed over, oldest first.
    pub fn continues(&self, mut before: Vec<v1::Event>) {
        let too_many = before.len().saturating_sub(HANDED);
        before.drain(..too_many);
        self.kept.lock().before = before;
    }

    /// The last events of this leader that fit, newest first.
    pub fn newest(&self, limit: usize, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let kept = self.kept.lock();
        kept.events.iter().rev().filter(|event| fits(event)).take(limit).cloned().collect()
    }

    /// The last events that are wanted, newest first. `epoch_ms`: what `Time::ZERO` is in
    /// milliseconds since 1970.
    pub fn told(&self, epoch_ms: u64, limit: usize, wanted: &Wanted<'_>) -> Vec<v1::Event> {
        let kept = self.kept.lock();
        let own = kept.events.iter().rev().filter(|event| wanted.fits_own(epoch_ms, event));
        let before = kept.before.iter().rev().filter(|event| wanted.fits_told(event));
        own.map(|event| as_told(epoch_ms, event)).chain(before.cloned()).take(limit).collect()
    }

    /// For the next leader, oldest first.
    pub fn to_hand_over(&self, epoch_ms: u64) -> Vec<v1::Event> {
        let mut room = HANDED_BYTES;
        let mut newest = self.told(epoch_ms, HANDED, &Wanted::default());
        let fits = newest.iter().take_while(|event| {
            let left = room.checked_sub(event.encoded_len());
            room = left.unwrap_or(0);
            left.is_some()
        });
        let fits = fits.count();
        newest.truncate(fits);
        newest.reverse();
        newest
    }
}

impl<'a> Wanted<'a> {
    /// Those that a request asks for.
    pub fn of(request: &'a v1::HistoryRequest) -> Self {
        Self {
            shard: &request.shard_key,
            executor: &request.executor_id,
            kinds: &request.kinds,
            until_ms: request.until.as_ref().map(millis),
        }
    }

    fn fits_own(&self, epoch_ms: u64, event: &Event) -> bool {
        let shard = event.shard.as_deref().unwrap_or_default();
        let executor = event.executor.as_deref().unwrap_or_default();
        let at_ms = epoch_ms + event.at.as_nanos() / 1_000_000;
        self.fits(at_ms, event.what.as_str(), shard, executor)
    }

    fn fits_told(&self, event: &v1::Event) -> bool {
        let at_ms = event.at.as_ref().map_or(0, millis);
        self.fits(at_ms, &event.kind, &event.shard_key, &event.executor_id)
    }

    fn fits(&self, at_ms: u64, kind: &str, shard: &str, executor: &str) -> bool {
        (self.shard.is_empty() || self.shard == shard)
            && (self.executor.is_empty() || self.executor == executor)
            && (self.kinds.is_empty() || self.kinds.iter().any(|it| it == kind))
            && self.until_ms.is_none_or(|until| at_ms <= until)
    }
}

fn as_told(epoch_ms: u64, event: &Event) -> v1::Event {
    v1::Event {
        at: Some(timestamp(epoch_ms + event.at.as_nanos() / 1_000_000)),
        kind: event.what.as_str().to_owned(),
        shard_key: event.shard.as_deref().unwrap_or_default().to_owned(),
        executor_id: event.executor.as_deref().unwrap_or_default().to_owned(),
        generation: event.generation,
        detail: event.detail.clone().into_owned(),
    }
}

/// A time of the wire in milliseconds since 1970.
pub(crate) fn millis(at: &Timestamp) -> u64 {
    let seconds = u64::try_from(at.seconds).unwrap_or(0);
    let nanos = u64::try_from(at.nanos).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}

/// Milliseconds since 1970 as the wire has them.
pub(crate) fn timestamp(millis: u64) -> Timestamp {
    let seconds = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
    // Below 1,000,000,000: it fits.
    let nanos = (millis % 1000) as i32 * 1_000_000;
    Timestamp { seconds, nanos }
}

#[cfg(test)]
mod tests {
    use plimsoll_ownership::event::What;
    use plimsoll_placement::time::Time;

    use super::*;

    fn event(number: usize, detail: usize) -> Event {
        Event {
            at: Time::from_millis(number as u64),
            what: What::Granted,
            shard: Some(number.to_string().into()),
            executor: None,
            generation: number as u64,
            detail: "x".repeat(detail).into(),
        }
    }

    fn history(events: usize, detail: usize) -> History {
        let history = History::default();
        (0..events).for_each(|number| history.push(event(number, detail)));
        history
    }

    fn generations(events: &[v1::Event]) -> Vec<u64> {
        events.iter().map(|event| event.generation).collect()
    }

    #[test]
    fn it_goes_on_where_the_leader_before_ended() {
        let old = history(3, 0);
        let next = History::default();
        next.continues(old.to_hand_over(5_000));
        next.push(event(7, 0));
        let all = next.told(9_000, 10, &Wanted::default());
        assert_eq!(generations(&all), [7, 2, 1, 0]);
        let at = |event: &v1::Event| event.at.as_ref().map(|at| (at.seconds, at.nanos));
        assert_eq!((at(&all[0]), at(&all[1])), (Some((9, 7_000_000)), Some((5, 2_000_000))));
        assert_eq!(
            generations(&next.told(9_000, 10, &Wanted { shard: "1", ..Wanted::default() })),
            [1]
        );
        assert_eq!(generations(&next.told(9_000, 2, &Wanted::default())), [7, 2]);
        let until = Wanted { until_ms: Some(5_001), ..Wanted::default() };
        assert_eq!(generations(&next.told(9_000, 10, &until)), [1, 0]);
        assert_eq!(generations(&next.to_hand_over(9_000)), [0, 1, 2, 7], "and on to the next");
    }

    #[test]
    fn the_newest_are_handed_over_as_far_as_there_is_room() {
        let many = history(3_000, 0).to_hand_over(0);
        assert_eq!((many.len(), many[0].generation), (1_000, 2_000));
        let long = history(1_000, 10_000).to_hand_over(0);
        let bytes: usize = long.iter().map(Message::encoded_len).sum();
        assert!(bytes <= HANDED_BYTES && bytes > HANDED_BYTES - 11_000, "{bytes}");
        assert_eq!(long[long.len() - 1].generation, 999);
    }
}
