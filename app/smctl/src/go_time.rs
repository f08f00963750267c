//! Moments as the Go tool prints them, in UTC.

use jiff::Timestamp;

/// What Go shows for a time that was never set.
const ZERO: &str = "0001-01-01T00:00:00Z";

/// RFC 3339 with as much of the fraction as there is: Go's `RFC3339Nano`.
pub(crate) fn nanos(at: Option<&prost_types::Timestamp>) -> String {
    at.and_then(timestamp).map_or_else(|| ZERO.to_owned(), |at| at.to_string())
}

/// RFC 3339 to the second, or a dash.
pub(crate) fn seconds(at: Option<&prost_types::Timestamp>) -> String {
    at.and_then(timestamp).map_or_else(|| "-".to_owned(), |at| format!("{at:.0}"))
}

fn timestamp(at: &prost_types::Timestamp) -> Option<Timestamp> {
    Timestamp::new(at.seconds, at.nanos).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanos: i32) -> Option<prost_types::Timestamp> {
        Some(prost_types::Timestamp { seconds, nanos })
    }

    #[test]
    fn the_fraction_loses_its_trailing_zeros() {
        assert_eq!(nanos(at(1_767_323_045, 120_000_000).as_ref()), "2026-01-02T03:04:05.12Z");
        assert_eq!(
            nanos(at(1_767_323_045, 123_456_789).as_ref()),
            "2026-01-02T03:04:05.123456789Z"
        );
        assert_eq!(nanos(at(1_767_323_045, 0).as_ref()), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn seconds_are_cut_not_rounded() {
        assert_eq!(seconds(at(1_767_323_045, 999_999_999).as_ref()), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn a_time_never_set_is_zero_or_a_dash() {
        assert_eq!(nanos(None), ZERO);
        assert_eq!(seconds(None), "-");
    }
}
