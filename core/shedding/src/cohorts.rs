//! Which users of a level go first: the same ones for a while, then others.

use std::time::Duration;

use crate::criticality::Cohort;
use crate::jitter::mix;
use crate::time::Time;

/// How long the same cohorts are first to go.
const TURN: Duration = Duration::from_secs(3600);

/// A cohort's place in the order of dropping, 0 (last to go) to just below 1.
///
/// Each turn is another permutation of the 128, the same one in every process
/// with that seed, so that a request dropped at one hop is dropped at all.
pub(crate) fn rank(at: Time, cohort: Cohort, seed: u64) -> f64 {
    let turn = at.as_nanos() / TURN.as_nanos() as u64;
    let key = mix(turn ^ seed);
    let (odd, shift) = ((key as u8) | 1, (key >> 8) as u8);
    let place = cohort.number().wrapping_mul(odd).wrapping_add(shift) % Cohort::COUNT;
    f64::from(place) / f64::from(Cohort::COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(hour: u64, seed: u64) -> Vec<u8> {
        let at = Time::from_millis(hour * 3_600_000 + 5);
        (0..Cohort::COUNT)
            .map(|number| (rank(at, Cohort::from_number(number).unwrap(), seed) * 128.0) as u8)
            .collect()
    }

    #[test]
    fn every_hour_each_cohort_has_a_place_of_its_own() {
        for hour in 0..200 {
            let mut places = order(hour, 9);
            places.sort_unstable();
            assert!(places.into_iter().eq(0..128), "{hour}");
        }
    }

    #[test]
    fn no_cohort_is_among_the_first_half_to_go_for_ever() {
        for number in 0..128 {
            let unlucky = (0..200).filter(|&hour| order(hour, 9)[number] >= 64).count();
            assert!((60..140).contains(&unlucky), "{number} {unlucky}");
        }
    }
}
