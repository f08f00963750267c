//! Who asks for what, and when: decided before the run, by a seed alone.
//!
//! Arrivals are Poisson and do not wait for answers: an open loop. Rates are
//! factors of the capacity, never requests a second, so that every machine is
//! overloaded alike.

use plimsoll_peers::Asked;
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

/// A rate that holds for a while. Times are seconds from the start of what is
/// measured; what lies before is warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub from: f64,
    pub to: f64,
    /// Of the capacity.
    pub factor: f64,
}

/// What one caller asks of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub level: Criticality,
    pub caller: u32,
    pub endpoint: u32,
    pub pieces: Vec<Piece>,
    /// Answers are streams that stay open to the end of the run.
    pub stays_open: bool,
}

impl Stream {
    /// Requests of a level at these rates, from caller and for endpoint 0.
    pub fn new(level: Criticality, pieces: Vec<Piece>) -> Self {
        Self { level, caller: 0, endpoint: 0, pieces, stays_open: false }
    }

    /// The same from another caller.
    pub fn by(self, caller: u32) -> Self {
        Self { caller, ..self }
    }

    /// The same for another endpoint.
    pub fn to(self, endpoint: u32) -> Self {
        Self { endpoint, ..self }
    }
}

/// One request that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Seconds, as in [`Piece`].
    pub at: f64,
    pub asked: Asked,
    pub stays_open: bool,
}

/// Every request of these streams in order of time, at `capacity` requests a
/// second. The same seed gives the same ones.
pub fn arrivals(streams: &[Stream], capacity: f64, seed: u64) -> Vec<Arrival> {
    let mut all = Vec::new();
    for (number, stream) in streams.iter().enumerate() {
        let random = Pcg64Mcg::seed_from_u64(seed ^ ((number as u64 + 1) << 32));
        of_stream(stream, capacity, random, &mut all);
    }
    all.sort_by(|a: &Arrival, b| a.at.total_cmp(&b.at));
    all
}

fn of_stream(stream: &Stream, capacity: f64, mut random: Pcg64Mcg, all: &mut Vec<Arrival>) {
    for piece in &stream.pieces {
        let rate = piece.factor * capacity;
        let mut at = if rate > 0.0 { piece.from } else { continue };
        loop {
            let gap: f64 = Exp1.sample(&mut random);
            at += gap / rate;
            if at >= piece.to {
                break;
            }
            let cohort = Cohort::from_hash(random.random());
            all.push(Arrival { at, asked: asked(stream, cohort), stays_open: stream.stays_open });
        }
    }
}

fn asked(stream: &Stream, cohort: Cohort) -> Asked {
    let Stream { level, caller, endpoint, .. } = *stream;
    Asked { level, cohort, caller, endpoint, patience: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> Vec<Stream> {
        let piece = |from, to, factor| Piece { from, to, factor };
        vec![
            Stream::new(Criticality::CoreFlow, vec![piece(-1.0, 0.0, 0.5), piece(0.0, 10.0, 1.0)]),
            Stream::new(Criticality::Internal, vec![piece(2.0, 4.0, 2.0)]).by(1).to(1),
        ]
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals_and_another_does_not() {
        let first = arrivals(&streams(), 1000.0, 7);
        assert_eq!(first, arrivals(&streams(), 1000.0, 7));
        assert_ne!(first, arrivals(&streams(), 1000.0, 8));
    }

    #[test]
    fn they_come_in_order_within_their_pieces_and_at_their_rates() {
        let all = arrivals(&streams(), 1000.0, 7);
        assert!(all.is_sorted_by(|a, b| a.at <= b.at));
        let count = |level: Criticality, from: f64, to: f64| {
            let of = |it: &&Arrival| it.asked.level == level && it.at >= from && it.at < to;
            all.iter().filter(of).count() as f64
        };
        let within = |counted: f64, expected: f64| {
            assert!((counted - expected).abs() < 5.0 * expected.sqrt(), "{counted} {expected}");
        };
        within(count(Criticality::CoreFlow, -1.0, 0.0), 500.0);
        within(count(Criticality::CoreFlow, 0.0, 10.0), 10_000.0);
        within(count(Criticality::Internal, 2.0, 4.0), 4_000.0);
        assert_eq!(count(Criticality::Internal, -1.0, 2.0), 0.0);
    }

    #[test]
    fn another_stream_beside_it_does_not_change_a_stream() {
        let alone = arrivals(&streams()[..1], 1000.0, 7);
        let mut both = arrivals(&streams(), 1000.0, 7);
        both.retain(|it| it.asked.endpoint == 0);
        assert_eq!(alone, both);
    }
}
