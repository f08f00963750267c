//! How gRPC writes a timeout: up to eight digits and a unit.

use std::time::Duration;

use http::HeaderValue;

/// The greatest number that fits.
const MAX: u128 = 99_999_999;

/// Reads `grpc-timeout`; `None` if it is not one.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Writes it as finely as fits, never longer than it is.
pub(crate) fn timeout_value(span: Duration) -> HeaderValue {
    let units = [('u', span.as_micros()), ('m', span.as_millis()), ('S', span.as_secs().into())];
    let fitting = units.into_iter().find(|(_, number)| *number <= MAX);
    let (unit, number) = fitting.unwrap_or(('S', MAX));
    // Digits and a letter are always a header's value.
    HeaderValue::try_from(format!("{number}{unit}")).unwrap_or(HeaderValue::from_static("0u"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit_and_nothing_else() {
        for (text, nanos) in
            [("1H", 3_600_000_000_000_u64), ("2M", 120_000_000_000), ("5m", 5_000_000), ("7n", 7)]
        {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["", "m", "5", "5x", "123456789m", "-5m", "+5m", "5 m", "5ä", "ä"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_not_longer() {
        for nanos in [0, 1_000, 5_000_000, 99_999_999_000, 100_000_000_000, 1 << 56] {
            let span = Duration::from_nanos(nanos);
            let back = parse(timeout_value(span).to_str().unwrap()).unwrap();
            assert!(back <= span && back >= span.mul_f64(0.99), "{span:?} {back:?}");
        }
        assert_eq!(timeout_value(Duration::MAX), "99999999S");
    }
}
