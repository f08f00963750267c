//! Between the wire and what is counted and stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::{Change, LevelShed};
use plimsoll_shedding::traffic::{
    Counts, Figures, OTHERS, ROWS_A_SLICE, Row, Rule, SLICE, Slice, Spread, Traffic,
};
use plimsoll_store::PolicyHead;
use plimsoll_wire::v1;
use prost_types::{Duration as Span, Timestamp};

/// Queues of an instance that are kept.
const MAX_QUEUES: usize = 64;
/// The longest name of a queue or state that is kept: a group's, or an endpoint's cut.
const MAX_QUEUE_NAME: usize = 128;

// === times ===

/// The number of the slice that this is in.
pub(super) fn slice_at(wall_ms: u64) -> u64 {
    wall_ms / SLICE.as_millis() as u64
}

pub(super) fn slice_start_ms(number: u64) -> u64 {
    number.saturating_mul(SLICE.as_millis() as u64)
}

pub(super) fn moment(wall_ms: u64) -> Timestamp {
    let seconds = i64::try_from(wall_ms / 1000).unwrap_or(i64::MAX);
    Timestamp { seconds, nanos: (wall_ms % 1000) as i32 * 1_000_000 }
}

pub(super) fn span(span: Duration) -> Span {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    Span { seconds, nanos: span.subsec_nanos() as i32 }
}

/// What is negative or missing counts as nothing.
pub(super) fn length(span: Option<&Span>) -> Duration {
    let seconds = span.map_or(0, |span| u64::try_from(span.seconds).unwrap_or(0));
    let nanos = span.map_or(0, |span| u32::try_from(span.nanos).unwrap_or(0));
    Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into()))
}

// === policies ===

/// A revision with its text; empty where it is left out.
pub(super) fn revision(head: &PolicyHead, text: &str) -> v1::PolicyRevision {
    v1::PolicyRevision {
        service: head.service.to_string(),
        revision: head.revision,
        text: text.to_owned(),
        saved_at: Some(moment(head.saved_at_ms)),
        author: head.author.clone(),
        comment: head.comment.clone(),
        rolled_back_to: head.rolled_back_to,
    }
}

pub(super) fn change(change: &Change) -> v1::LevelChange {
    v1::LevelChange {
        endpoint: change.endpoint.to_string(),
        caller: change.caller.to_string(),
        from_level: change.from.level.level().into(),
        to_level: change.to.level.level().into(),
        from_enforcement: change.from.enforcement_as_str().to_owned(),
        to_enforcement: change.to.enforcement_as_str().to_owned(),
        rate: change.rate,
    }
}

pub(super) fn level_shed(level: Criticality, it: &LevelShed) -> v1::LevelShed {
    v1::LevelShed {
        level: level.level().into(),
        requests: it.requests,
        shed: it.shed,
        would_shed: it.would_shed,
        would_have: it.would_have,
    }
}

// === what instances see ===

/// Rows as they were told, each once; those beyond the bound as [`OTHERS`]. Levels that
/// do not exist are left out.
pub(super) fn rows(told: Vec<v1::Traffic>) -> BTreeMap<Row, Figures> {
    let mut rows = BTreeMap::<Row, Figures>::new();
    let mut own = 0;
    for traffic in told {
        let level = u8::try_from(traffic.level).ok().and_then(Criticality::from_level);
        let Some(level) = level else { continue };
        let figures = figures(&traffic);
        let row = Row { endpoint: traffic.endpoint.into(), caller: traffic.caller.into(), level };
        let is_others = *row.endpoint == *OTHERS && *row.caller == *OTHERS;
        if !is_others && !rows.contains_key(&row) {
            own += 1;
        }
        let row = if own > ROWS_A_SLICE && !rows.contains_key(&row) {
            Row { endpoint: OTHERS.into(), caller: OTHERS.into(), level }
        } else {
            row
        };
        rows.entry(row).or_default().merge(&figures);
    }
    rows
}

fn figures(told: &v1::Traffic) -> Figures {
    let spread = |p50, p99| Spread { p50: length(p50), p99: length(p99) };
    Figures {
        counts: Counts {
            admitted: told.admitted,
            shed: told.shed,
            expired: told.expired,
            would_shed: told.would_shed.min(told.admitted),
        },
        rule: Rule::parse(&told.rule),
        queue_wait: spread(told.queue_wait_p50.as_ref(), told.queue_wait_p99.as_ref()),
        handling: spread(told.handling_p50.as_ref(), told.handling_p99.as_ref()),
    }
}

pub(super) fn traffic(row: &Row, figures: &Figures) -> v1::Traffic {
    let counts = &figures.counts;
    v1::Traffic {
        endpoint: row.endpoint.to_string(),
        caller: row.caller.to_string(),
        level: row.level.level().into(),
        rule: figures.rule.as_str().to_owned(),
        admitted: counts.admitted,
        shed: counts.shed,
        expired: counts.expired,
        would_shed: counts.would_shed,
        queue_wait_p50: Some(span(figures.queue_wait.p50)),
        queue_wait_p99: Some(span(figures.queue_wait.p99)),
        handling_p50: Some(span(figures.handling.p50)),
        handling_p99: Some(span(figures.handling.p99)),
    }
}

/// A slice by levels.
pub(super) fn slice(number: u64, slice: &Slice) -> v1::Slice {
    let levels = slice.levels().into_iter().map(|(level, counts)| v1::LevelCount {
        level: level.level().into(),
        admitted: counts.admitted,
        shed: counts.shed,
    });
    v1::Slice {
        from: Some(moment(slice_start_ms(number))),
        levels: levels.collect(),
        queue_wait_p99: Some(span(slice.queue_wait_p99())),
        limit: slice.limit,
        in_flight: slice.in_flight,
    }
}

/// The busiest queues, with names that fit.
pub(super) fn queues(mut told: Vec<v1::QueueState>) -> Vec<v1::QueueState> {
    told.sort_by_key(|queue| std::cmp::Reverse((queue.queued, queue.in_flight)));
    told.truncate(MAX_QUEUES);
    for queue in &mut told {
        cut(&mut queue.group);
        cut(&mut queue.state);
    }
    told.shrink_to_fit();
    told
}

fn cut(name: &mut String) {
    let end = name.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = end.take_while(|end| *end <= MAX_QUEUE_NAME).last().unwrap_or(0);
    name.truncate(fits);
    name.shrink_to_fit();
}

// === between servers ===

pub(super) fn observed_slices(traffic: &Traffic) -> Vec<v1::ObservedSlice> {
    let slices = traffic.slices.iter().map(|(number, slice)| v1::ObservedSlice {
        number: *number,
        traffic: slice.rows.iter().map(|(row, figures)| self::traffic(row, figures)).collect(),
        limit: slice.limit,
        in_flight: slice.in_flight,
    });
    slices.collect()
}

pub(super) fn observed_traffic(slices: Vec<v1::ObservedSlice>) -> Traffic {
    let slices = slices.into_iter().map(|told| {
        let slice =
            Slice { rows: rows(told.traffic), limit: told.limit, in_flight: told.in_flight };
        (told.number, slice)
    });
    Traffic { slices: slices.collect() }
}

/// For a caller's name that is kept.
pub(super) fn names(names: impl IntoIterator<Item = Arc<str>>) -> Vec<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_without_sense_is_harmless() {
        let negative = Some(Span { seconds: -5, nanos: -1 });
        let odd = v1::Traffic {
            level: 7,
            admitted: 1,
            queue_wait_p99: negative,
            ..v1::Traffic::default()
        };
        assert!(rows(vec![odd.clone()]).is_empty());
        let rows = rows(vec![v1::Traffic { level: 4, would_shed: 9, ..odd }]);
        let figures = rows.values().next().unwrap();
        assert_eq!((figures.counts.would_shed, figures.queue_wait.p99), (1, Duration::ZERO));
    }

    #[test]
    fn what_one_server_saw_is_read_by_another() {
        let told = |caller: &str, level| v1::Traffic {
            endpoint: "/a".into(),
            caller: caller.into(),
            level,
            rule: "caller".into(),
            admitted: 5,
            shed: 2,
            queue_wait_p50: Some(span(Duration::from_millis(3))),
            ..v1::Traffic::default()
        };
        let slice = Slice { rows: rows(vec![told("x", 3), told("", 4)]), limit: 8, in_flight: 2 };
        let traffic = Traffic { slices: [(7, slice)].into() };
        assert_eq!(observed_traffic(observed_slices(&traffic)), traffic);
    }
}
