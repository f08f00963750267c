//! How much an executor can carry beside the others, as text: in its metadata, or
//! in the settings of the namespace by host.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The metadata key under which an executor declares its capacity.
pub const CAPACITY_LABEL: &str = "plimsoll.capacity";

/// The least and the most that counts as a capacity. Beyond that it is a mistake:
/// no host carries a million times what another does.
const RANGE: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// Capacities by host: `big-1=2, small-3=0.5`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostCapacities(BTreeMap<Arc<str>, f64>);

/// A capacity, 0.001 to 1000; `None` if the text is none.
pub fn parse(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|capacity| RANGE.contains(capacity))
}

impl HostCapacities {
    /// From `host=capacity` separated by commas; empty text is nobody. `None` if
    /// an entry is malformed or a host is named twice.
    pub fn parse(text: &str) -> Option<Self> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let mut all = BTreeMap::new();
        for entry in entries {
            let (host, capacity) = entry.rsplit_once('=')?;
            let host = host.trim();
            let fresh = all.insert(host.into(), parse(capacity)?).is_none();
            if host.is_empty() || !fresh {
                return None;
            }
        }
        Some(Self(all))
    }

    /// The capacity of this host if one is given.
    pub fn of(&self, host: &str) -> Option<f64> {
        self.0.get(host).copied()
    }
}

impl fmt::Display for HostCapacities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (host, capacity)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{host}={capacity}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let both = HostCapacities::parse(" big-1=2 ,small=0.5,").unwrap();
        assert_eq!(both.to_string(), "big-1=2, small=0.5");
        assert_eq!(HostCapacities::parse(&both.to_string()), Some(both));
        assert_eq!(HostCapacities::parse(""), Some(HostCapacities::default()));
    }

    #[test]
    fn only_sane_numbers_are_capacities() {
        assert_eq!(parse(" 2.5 "), Some(2.5));
        for text in ["0", "-1", "NaN", "inf", "1e9", "large", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_malformed_list_is_no_list() {
        for text in ["a", "a=", "=1", "a=1,a=2", "a=0"] {
            assert_eq!(HostCapacities::parse(text), None, "{text}");
        }
    }
}
