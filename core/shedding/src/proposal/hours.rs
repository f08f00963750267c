//! Calls by hour of the day.

/// Hours of a day.
pub(super) const DAY: usize = 24;

/// Calls by hour of the day, UTC.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Hours([u64; DAY]);

/// A part of the day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Busy {
    pub(super) from: u8,
    pub(super) hours: u8,
    pub(super) percent: u8,
}

impl Hours {
    pub(super) fn add(&mut self, hour: u8, calls: u64) {
        self.0[usize::from(hour) % DAY] += calls;
    }

    pub(super) fn and(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The shortest part of the day, of at most so many hours, that has this share
    /// of the calls; it may span midnight.
    pub(super) fn busy(&self, most: u8, share: f64) -> Option<Busy> {
        let total = self.total();
        let within = |from: usize, hours: usize| -> u64 {
            (from..from + hours).map(|hour| self.0[hour % DAY]).sum()
        };
        let enough = |calls: u64| total > 0 && calls as f64 >= total as f64 * share;
        let lengths = 1..=usize::from(most).min(DAY - 1);
        let mut parts = lengths.flat_map(|hours| (0..DAY).map(move |from| (from, hours)));
        let (from, hours) = parts.find(|&(from, hours)| enough(within(from, hours)))?;
        let percent = (within(from, hours) * 100 / total) as u8;
        Some(Busy { from: from as u8, hours: hours as u8, percent })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_part_of_the_day_may_span_midnight() {
        let mut hours = Hours::default();
        for (hour, calls) in [(23, 40), (0, 55), (12, 5)] {
            hours.add(hour, calls);
        }
        assert_eq!(hours.busy(3, 0.9), Some(Busy { from: 23, hours: 2, percent: 95 }));
        assert_eq!(hours.busy(1, 0.9), None);
        assert_eq!(Hours::default().busy(23, 0.0), None);
    }

    proptest! {
        #[test]
        fn it_turns_with_the_clock(calls in prop::array::uniform24(0u64..100), turn in 0u8..24) {
            let (mut plain, mut turned) = (Hours::default(), Hours::default());
            for (hour, calls) in (0u8..).zip(calls) {
                plain.add(hour, calls);
                turned.add((hour + turn) % 24, calls);
            }
            let lengths = [plain, turned].map(|it| it.busy(5, 0.6).map(|busy| busy.hours));
            prop_assert_eq!(lengths[0], lengths[1]);
        }
    }
}
