//! What an instance saw, within bounds: rows of an endpoint, a caller and a level.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::figures::{BOUNDS, Histogram};

/// Rows of an observation at most.
pub(super) const MAX_ROWS: usize = 1000;
/// Of those, how many are kept for sums of what has none of its own.
const SUMS: usize = 100;
/// Who is summed.
pub(super) const OTHERS: &str = "(others)";

/// What became of requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) admitted: u64,
    pub(super) shed: u64,
    pub(super) expired: u64,
    pub(super) would_shed: u64,
}

/// Requests of one caller to one endpoint at one level.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Row {
    pub(super) endpoint: Arc<str>,
    pub(super) caller: Arc<str>,
    pub(super) level: u8,
    pub(super) rule: &'static str,
    pub(super) counts: Counts,
}

/// Samples by bucket, the one without a bound last.
pub(super) type Buckets = [u64; BOUNDS.len() + 1];

impl Counts {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            admitted: self.admitted.saturating_sub(before.admitted),
            shed: self.shed.saturating_sub(before.shed),
            expired: self.expired.saturating_sub(before.expired),
            would_shed: self.would_shed.saturating_sub(before.would_shed),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            admitted: self.admitted + other.admitted,
            shed: self.shed + other.shed,
            expired: self.expired + other.expired,
            would_shed: self.would_shed + other.would_shed,
        }
    }

    pub(super) fn total(self) -> u64 {
        self.admitted + self.shed + self.expired
    }
}

/// At most [`MAX_ROWS`]: the busiest as they are, the rest summed, by endpoint as
/// far as there is room. No request is left out of the sums.
pub(super) fn bounded(mut rows: Vec<Row>) -> Vec<Row> {
    if rows.len() <= MAX_ROWS {
        return rows;
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total()));
    let rest = rows.split_off(MAX_ROWS - SUMS);
    let by_endpoint = summed(&rest, |row| Arc::clone(&row.endpoint));
    rows.extend(most_as_they_are(by_endpoint));
    rows
}

/// [`SUMS`] at most.
fn most_as_they_are(mut sums: Vec<Row>) -> Vec<Row> {
    const LEVELS: usize = 4;
    if sums.len() <= SUMS {
        return sums;
    }
    sums.sort_by_key(|row| std::cmp::Reverse(row.counts.total()));
    let rest = sums.split_off(SUMS - LEVELS);
    let others: Arc<str> = Arc::from(OTHERS);
    sums.extend(summed(&rest, |_| Arc::clone(&others)));
    sums
}

/// All callers together, by level and by what `endpoint` says.
fn summed(rows: &[Row], endpoint: impl Fn(&Row) -> Arc<str>) -> Vec<Row> {
    let mut sums: BTreeMap<(Arc<str>, u8), Counts> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((endpoint(row), row.level)).or_default();
        *sum = sum.and(row.counts);
    }
    let caller: Arc<str> = Arc::from(OTHERS);
    let row = |((endpoint, level), counts)| Row {
        endpoint,
        caller: Arc::clone(&caller),
        level,
        rule: "",
        counts,
    };
    sums.into_iter().map(row).collect()
}

/// What was recorded since `before`.
pub(super) fn since(histogram: &Histogram, before: &Buckets) -> (Buckets, Buckets) {
    let now = histogram.counts();
    let new = std::array::from_fn(|bucket| now[bucket].saturating_sub(before[bucket]));
    (now, new)
}

/// The span that this part of the samples does not exceed, 0 to 1, taken to lie
/// evenly in their bucket; beyond the last bound it is that bound. `None`: there
/// are no samples.
pub(super) fn percentile(buckets: &Buckets, part: f64) -> Option<Duration> {
    let total: u64 = buckets.iter().sum();
    let wanted = total as f64 * part;
    let mut below = 0;
    let (bucket, count) = buckets.iter().enumerate().find_map(|(bucket, &count)| {
        below += count;
        (count > 0 && below as f64 >= wanted).then_some((bucket, count))
    })?;
    let upper = BOUNDS.get(bucket).or(BOUNDS.last()).copied()?;
    let lower = bucket.checked_sub(1).map_or(0.0, |before| BOUNDS[before]);
    let inside = 1.0 - (below as f64 - wanted) / count as f64;
    Some(Duration::from_secs_f64(lower + (upper - lower) * inside.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(endpoint: u16, caller: u16, level: u8, admitted: u64) -> Row {
        Row {
            endpoint: format!("/{endpoint}").into(),
            caller: format!("c{caller}").into(),
            level,
            rule: "default",
            counts: Counts { admitted, shed: 1, ..Counts::default() },
        }
    }

    fn total(rows: &[Row]) -> Counts {
        rows.iter().fold(Counts::default(), |sum, row| sum.and(row.counts))
    }

    #[test]
    fn the_busiest_keep_their_names() {
        let rows = (0..3000).map(|n| row(n / 10, n, 3, u64::from(n))).collect();
        let rows = bounded(rows);
        assert!(rows.len() <= MAX_ROWS, "{}", rows.len());
        let named = |n: u16| rows.iter().any(|row| *row.caller == format!("c{n}"));
        assert!(named(2999) && named(2100) && !named(2099));
        assert!(rows.iter().any(|row| (&*row.endpoint, &*row.caller) == (OTHERS, OTHERS)));
        let of_endpoint = |row: &&Row| (&*row.endpoint, &*row.caller) == ("/200", OTHERS);
        let sum = rows.iter().find(of_endpoint).unwrap().counts;
        assert_eq!((sum.admitted, sum.shed), ((2000..2010).sum(), 10));
    }

    #[test]
    fn few_are_left_alone() {
        let rows: Vec<Row> = (0..MAX_ROWS as u16).map(|n| row(n, n, 1, 1)).collect();
        assert_eq!(bounded(rows.clone()), rows);
    }

    #[test]
    fn a_percentile_lies_within_its_bucket() {
        let mut buckets = Buckets::default();
        assert_eq!(percentile(&buckets, 0.5), None);
        buckets[3] = 10; // 0.5 to 1 ms
        assert_eq!(percentile(&buckets, 0.5), Some(Duration::from_micros(750)));
        assert_eq!(percentile(&buckets, 1.0), Some(Duration::from_millis(1)));
        buckets[14] = 90;
        assert_eq!(percentile(&buckets, 0.99), Some(Duration::from_secs(10)));
    }

    proptest! {
        #[test]
        fn no_request_is_lost_and_no_bound_is_passed(
            rows in prop::collection::vec((0u16..400, 0u16..50, 1u8..5, 0u64..1000), 0..4000)
        ) {
            let rows: Vec<Row> = rows.into_iter().map(|(e, c, l, n)| row(e, c, l, n)).collect();
            let bounded = bounded(rows.clone());
            prop_assert!(bounded.len() <= MAX_ROWS);
            prop_assert_eq!(total(&bounded), total(&rows));
        }

        #[test]
        fn percentiles_grow_with_the_part(counts in prop::array::uniform15(0u64..50)) {
            let at = |part| percentile(&counts, part);
            prop_assert!(at(0.5) <= at(0.9) && at(0.9) <= at(0.99));
        }
    }
}
