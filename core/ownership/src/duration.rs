//! Durations as people write them: `500ms`, `10s`, `1m`, `1m30s`, `2h`.

use std::time::Duration;

const UNITS: [(&str, u64); 4] =
    [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000)];

/// Reads a duration; `None` if it is not one. A lone `0` is zero.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos = 0_u64;
    while !rest.is_empty() {
        let (part, tail) = take_part(rest)?;
        nanos = nanos.checked_add(part)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(Duration::from_nanos(nanos))
}

/// Takes one number with its unit off the front.
fn take_part(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..letters])?;
    let nanos = number * *unit as f64;
    (nanos < 1e18).then(|| (nanos.round() as u64, &rest[letters..]))
}

/// Writes a duration so that [`parse`] reads it back, to the millisecond.
pub fn print(span: Duration) -> String {
    let mut millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, nanos) in UNITS {
        let unit = nanos / 1_000_000;
        if millis >= unit {
            text += &format!("{}{name}", millis / unit);
            millis %= unit;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, millis) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1.5s", 1_500),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "s", "10", "10 s", "-1s", "1d", "1e9s", "..s", "99999999999999h"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["500ms", "10s", "1m30s", "2h", "1s500ms", "0s"] {
            assert_eq!(print(parse(text).unwrap()), text);
        }
    }
}
