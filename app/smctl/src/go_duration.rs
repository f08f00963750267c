//! Durations as Go writes them: `500ms`, `10s`, `1m30s`, `1.5h`.
//!
//! Refuses negative ones: here every duration is a time to wait.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Reads a duration; the error names it and shows what one looks like.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let seconds = if text == "0" { Some(0.0) } else { sum_of_parts(text) };
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("{text:?} is no duration: write for example 500ms, 10s or 1m30s"))
}

fn sum_of_parts(text: &str) -> Option<f64> {
    let (mut seconds, mut rest) = first_part(text)?;
    while !rest.is_empty() {
        let (more, after) = first_part(rest)?;
        seconds += more;
        rest = after;
    }
    Some(seconds)
}

/// The value of `1.5h` in `1.5h30m`, and `30m`.
fn first_part(text: &str) -> Option<(f64, &str)> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = text.split_at(number_end);
    let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some((number.parse::<f64>().ok()? * seconds, rest))
}

/// Writes a duration the way Go's `Duration.String` does, to the millisecond.
pub(crate) fn format(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) if duration.subsec_millis() > 0 => format!("{}ms", duration.subsec_millis()),
        (0, 0, _) => format!("{}s", duration.as_millis() as f64 / 1e3),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let cases = [
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
            ("1h2m3.5s", 3_723_500),
            (".5s", 500),
            ("0", 0),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse("1µs"), Ok(Duration::from_micros(1)));
    }

    #[test]
    fn refuses_what_is_none_and_says_so() {
        for text in ["", "10", "s", "-1s", "1x", "1.2.3s", "99999999999999h99999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("10").unwrap_err().starts_with("\"10\" is no duration: write"));
    }

    #[test]
    fn writes_what_go_writes() {
        for text in ["10s", "1m30s", "500ms", "2.5s", "1h0m5s", "0s"] {
            let read = if text == "0s" { Duration::ZERO } else { parse(text).unwrap() };
            assert_eq!(format(read), text);
        }
    }
}
