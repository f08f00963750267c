//! Sizes as people write them: `64KiB`, `1MiB`, `8192`.

const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// Reads a size in bytes; `None` if it is not one. A number alone is bytes.
pub fn parse(text: &str) -> Option<u64> {
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1));
    // `parse` would take a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, bytes) in
            [("0", 0), ("8192", 8192), ("64KiB", 65_536), ("1MiB", 1 << 20), ("2GiB", 2 << 30)]
        {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "KiB", "1KB", "-1", "+1", "1.5MiB", "1 MiB", "99999999999GiB"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
