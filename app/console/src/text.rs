//! How figures, times and names are written for people and in addresses.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What a segment of a path, or a value of a query, may show as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A load with about four digits that matter; the unit is the application's.
pub(crate) fn load(value: f64) -> String {
    match value.abs() {
        size if size >= 10_000.0 => grouped(value),
        size if size >= 1000.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A load, or a dash before its first measurement.
pub(crate) fn measured(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), load)
}

/// With a thin space between thousands.
fn grouped(value: f64) -> String {
    count(value.max(0.0).round() as u64)
}

/// A number of things: `12 345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A part of one as a percentage.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// A number and its noun: `1 host`, `3 hosts`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(number))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time of the wire in milliseconds since 1970.
pub(crate) fn wire_ms(at: Option<&prost_types::Timestamp>) -> Option<u64> {
    let at = at?;
    let seconds = u64::try_from(at.seconds).ok()?;
    let millis = u64::try_from(at.nanos).ok()? / 1_000_000;
    seconds.checked_mul(1000)?.checked_add(millis)
}

/// A time as the wire has it.
pub(crate) fn to_wire(ms: u64) -> prost_types::Timestamp {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    // Below 1,000,000,000: it fits.
    prost_types::Timestamp { seconds, nanos: (ms % 1000) as i32 * 1_000_000 }
}

/// A span of the wire; nothing if it is negative.
pub(crate) fn wire_span(span: Option<&prost_types::Duration>) -> Option<Duration> {
    let span = span?;
    Some(Duration::new(u64::try_from(span.seconds).ok()?, u32::try_from(span.nanos).ok()?))
}

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(ms: u64) -> String {
    let millis = i64::try_from(ms).unwrap_or(i64::MAX);
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The time of day in UTC: `19:04:12`.
pub(crate) fn clock(ms: u64) -> String {
    rfc3339(ms).get(11..19).unwrap_or_default().to_owned()
}

/// Day and time in UTC: `2026-11-30 19:04:12`.
pub(crate) fn date(ms: u64) -> String {
    rfc3339(ms).get(..19).unwrap_or_default().replace('T', " ")
}

/// A span as people say it, with one unit: `4 s`, `12 min`, `3 h`, `2 d`.
pub(crate) fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds / 60),
        seconds @ 6000..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// How long ago, or `now`.
pub(crate) fn ago(now_ms: u64, then_ms: u64) -> String {
    match now_ms.saturating_sub(then_ms) {
        0..1000 => "now".to_owned(),
        past => format!("{} ago", span(Duration::from_millis(past))),
    }
}

/// A name as a segment of a path or a value of a query.
pub(crate) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// The page of a namespace.
pub(crate) fn namespace_path(name: &str) -> String {
    format!("/namespaces/{}", encoded(name))
}

/// The page of a shard. Browsers would take "." and ".." for steps in the path.
pub(crate) fn shard_path(namespace: &str, key: &str) -> String {
    let namespace = namespace_path(namespace);
    match key {
        "" | "." | ".." => format!("{namespace}/shards?key={}", encoded(key)),
        key => format!("{namespace}/shards/{}", encoded(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_keep_the_digits_that_matter() {
        let cases = [(0.0, "0"), (0.01234, "0.0123"), (4.2, "4.20"), (123.456, "123.5")];
        for (value, text) in cases {
            assert_eq!(load(value), text);
        }
        assert_eq!(load(98_765.4), "98\u{202f}765");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(1024), "1024");
    }

    #[test]
    fn spans_have_one_unit() {
        let text = |seconds| span(Duration::from_secs(seconds));
        assert_eq!([3, 99, 100, 7200, 200_000].map(text), ["3 s", "99 s", "1 min", "2 h", "2 d"]);
        assert_eq!(ago(5000, 4500), "now");
        assert_eq!(ago(5000, 9000), "now");
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(rfc3339(1_764_529_452_007), "2025-11-30T19:04:12.007Z");
        assert_eq!(clock(1_764_529_452_007), "19:04:12");
        assert_eq!(wire_ms(Some(&to_wire(1_764_529_452_007))), Some(1_764_529_452_007));
    }

    #[test]
    fn no_key_leads_out_of_its_path() {
        assert_eq!(shard_path("a", "x/../y"), "/namespaces/a/shards/x%2F..%2Fy");
        assert_eq!(shard_path("a", ".."), "/namespaces/a/shards?key=..");
        assert_eq!(shard_path("a", "ü?&\""), "/namespaces/a/shards/%C3%BC%3F%26%22");
    }
}
