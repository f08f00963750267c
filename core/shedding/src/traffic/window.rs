//! The last ten minutes of a service, within bounds.
//!
//! Who reports may be broken or lie: nothing that is told makes this grow beyond what
//! it was given. What does not fit is counted under [`OTHERS`], so that sums stay
//! right.

use std::sync::Arc;

use super::{Figures, OTHERS, Row, Traffic};

/// Slices that are kept: ten minutes.
pub const SLICES: u64 = 60;
/// Rows of a slice, those of [`OTHERS`] not counted.
pub const ROWS_A_SLICE: usize = 1000;
/// The longest name of an endpoint that has rows of its own.
pub const MAX_ENDPOINT_BYTES: usize = 512;
/// The longest name of a caller that has rows of its own.
pub const MAX_CALLER_BYTES: usize = 128;

/// What a row takes beside its names, at most.
const AROUND_A_ROW: usize = 256;

/// The last ten minutes of a service.
#[derive(Debug, Default)]
pub struct Window {
    traffic: Traffic,
    bytes: usize,
}

impl Window {
    /// Adds what an instance saw within a slice, which is about the newest. May use that
    /// many bytes more for it. Returns how many of the rows were counted
    /// under [`OTHERS`].
    pub fn observe(
        &mut self,
        number: u64,
        rows: impl IntoIterator<Item = (Row, Figures)>,
        room: usize,
    ) -> usize {
        self.expire(number);
        let most = self.bytes.saturating_add(room);
        let slice = self.traffic.slices.entry(number).or_default();
        let mut own = slice.rows.keys().filter(|row| !is_others(row)).count();
        let mut folded = 0;
        for (mut row, figures) in rows {
            let cost = cost(&row);
            let is_known = slice.rows.contains_key(&row);
            let has_room = own < ROWS_A_SLICE && self.bytes.saturating_add(cost) <= most;
            if is_known {
                // It has its place already.
            } else if has_room && fits(&row) {
                self.bytes += cost;
                own += 1;
            } else {
                folded += 1;
                row = Row { endpoint: OTHERS.into(), caller: OTHERS.into(), ..row };
            }
            slice.rows.entry(row).or_default().merge(&figures);
        }
        folded
    }

    /// The limit and the requests in handlers of all instances, as of that slice.
    pub fn measure(&mut self, number: u64, limit: u32, in_flight: u32) {
        if let Some(slice) = self.traffic.slices.get_mut(&number) {
            (slice.limit, slice.in_flight) = (limit, in_flight);
        }
    }

    /// Forgets what is older than ten minutes now.
    pub fn expire(&mut self, number: u64) {
        let oldest = (number + 1).saturating_sub(SLICES);
        while let Some(first) = self.traffic.slices.first_entry()
            && *first.key() < oldest
        {
            let gone = first.remove();
            let rows = gone.rows.keys().filter(|row| !is_others(row));
            self.bytes = self.bytes.saturating_sub(rows.map(cost).sum());
        }
    }

    /// What is known.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// What it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

fn fits(row: &Row) -> bool {
    row.endpoint.len() <= MAX_ENDPOINT_BYTES
        && row.caller.len() <= MAX_CALLER_BYTES
        && !is_others(row)
}

fn is_others(row: &Row) -> bool {
    *row.endpoint == *OTHERS && *row.caller == *OTHERS
}

fn cost(row: &Row) -> usize {
    let name = |name: &Arc<str>| name.len();
    AROUND_A_ROW + name(&row.endpoint) + name(&row.caller)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criticality::Criticality;
    use crate::traffic::Counts;

    fn row(endpoint: &str, caller: &str) -> Row {
        Row { endpoint: endpoint.into(), caller: caller.into(), level: Criticality::Feature }
    }

    fn admitted(count: u64) -> Figures {
        Figures { counts: Counts { admitted: count, ..Counts::default() }, ..Figures::default() }
    }

    #[test]
    fn ten_minutes_are_kept() {
        let mut window = Window::default();
        for number in 100..200 {
            window.observe(number, [(row("/a", "x"), admitted(1))], usize::MAX);
        }
        let slices = &window.traffic().slices;
        assert_eq!(slices.keys().copied().collect::<Vec<_>>(), (140..200).collect::<Vec<_>>());
        window.expire(1000);
        assert_eq!((window.traffic(), window.bytes()), (&Traffic::default(), 0));
    }

    #[test]
    fn what_does_not_fit_is_counted_together() {
        let mut window = Window::default();
        let many = (0..ROWS_A_SLICE + 50).map(|n| (row("/a", &n.to_string()), admitted(2)));
        assert_eq!(window.observe(1, many, usize::MAX), 50);
        assert_eq!(window.observe(1, [(row("/a", "0"), admitted(1))], 0), 0, "it is known");
        assert_eq!(window.observe(2, [(row("/a", "0"), admitted(1))], 0), 1, "there is no room");
        let long = row(&"e".repeat(MAX_ENDPOINT_BYTES + 1), "x");
        assert_eq!(window.observe(2, [(long, admitted(1))], usize::MAX), 1);
        let others = window.traffic().slices[&1].rows[&row(OTHERS, OTHERS)];
        assert_eq!(others.counts.admitted, 100);
    }

    proptest! {
        #[test]
        fn sums_stay_right_and_bytes_within_bounds(
            seen in proptest::collection::vec((0_u64..5, 0_u8..40, 0_u8..40, 0_u64..9), 0..300),
            room in 0_usize..20_000,
        ) {
            let mut window = Window::default();
            let (mut number, mut sum, most) = (1000, 0, room);
            for (later, endpoint, caller, count) in seen {
                number += u64::from(later == 0);
                let row = row(&endpoint.to_string(), &caller.to_string());
                let left = most - window.bytes();
                window.observe(number, [(row, admitted(count))], left);
                sum += count;
                prop_assert!(window.bytes() <= most);
            }
            prop_assume!(number < 1000 + SLICES);
            prop_assert_eq!(window.traffic().within(..).admitted, sum);
        }
    }
}
