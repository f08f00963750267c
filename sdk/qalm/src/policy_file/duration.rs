//! Durations as people write them: `5ms`, `1.5s`, `1m30s`.

use std::time::Duration;

/// Units in nanoseconds.
const UNITS: [(&str, f64); 5] = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3_600e9)];

/// Reads a duration; `None` if it is not one.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let tail = &rest[digits..];
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &tail[..letters])?;
        nanos += number * unit;
        rest = &tail[letters..];
    }
    let fits = !text.is_empty() && nanos < 1e18;
    fits.then(|| Duration::from_nanos(nanos.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, micros) in
            [("5ms", 5_000), ("250us", 250), ("1.5s", 1_500_000), ("1m30s", 90_000_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Some(Duration::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_one() {
        for text in
            ["", "5", "ms", "5 ms", "-5ms", "5d", "1.2.3s", ".s", "5ms,", "9999999999h", "٣s"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
