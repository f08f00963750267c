//! A run, and the cases that look at it.

use std::fmt;

use crate::capacity::Capacities;
use crate::case::{Case, Place};
use crate::sockets::Kind;

/// One run. Two experiments that ask for the same load, seed and shedder share it.
#[derive(Debug)]
pub(super) struct Job(Vec<(usize, Case)>);

/// What may run beside what. In the order in which they run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Lane {
    /// Cases in this process.
    Waits,
    /// Servers whose handlers wait, at a moderate rate.
    Beside,
    /// One at a time: what needs a whole core, or measures one.
    Alone,
}

impl Lane {
    pub(super) const ALL: [Self; 3] = [Self::Waits, Self::Beside, Self::Alone];
}

/// From this load on, over the capacity, a server has the machine for itself.
const HEAVY: f64 = 3.5;
/// What starting a server and connecting to it takes, in seconds.
const START: f64 = 0.3;

/// The runs that these cases need, each case with its place in the list.
pub(super) fn of(cases: Vec<Case>) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for (index, case) in cases.into_iter().enumerate() {
        match jobs.iter_mut().find(|it| it.first().is_same_run(&case)) {
            Some(job) => job.0.push((index, case)),
            None => jobs.push(Job(vec![(index, case)])),
        }
    }
    jobs
}

impl Job {
    /// The case that is run; the others are the same.
    pub(super) fn first(&self) -> &Case {
        // A job is made with one and never loses any.
        &self.0[0].1
    }

    pub(super) fn cases(&self) -> &[(usize, Case)] {
        &self.0
    }

    pub(super) fn lane(&self) -> Lane {
        let case = self.first();
        match &case.place {
            Place::Io(_) => Lane::Waits,
            Place::Sockets(it) if it.kind == Kind::Io && case.peak() < HEAVY => Lane::Beside,
            Place::Sockets(_) | Place::Pair(_) => Lane::Alone,
        }
    }

    /// Requests a second while it is at its busiest.
    pub(super) fn rate(&self, capacities: &Capacities) -> f64 {
        self.first().peak() * capacities.of(&self.first().place)
    }

    /// Seconds from its start to its end, about.
    pub(super) fn length(&self) -> f64 {
        let case = self.first();
        match case.place {
            Place::Io(_) => case.length(),
            Place::Sockets(_) => START + case.length(),
            Place::Pair(pair) => START + case.length() * f64::from(pair.slots()),
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = self.first();
        let (title, shedder, factor) = (case.title(), case.shedder, case.factor);
        write!(f, "{title} {shedder} at {factor} C, seed {}", case.seed)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::Criticality;

    use super::*;
    use crate::load::{Piece, Stream};
    use crate::outcome::tests::case;
    use crate::shedders::Shedder;
    use crate::sockets::Server;

    #[test]
    fn the_same_load_under_two_names_is_run_once() {
        let first = case(Shedder::None, 2.0, 1);
        let again = Case { experiment: "another", ..first.clone() };
        let jobs = of(vec![first, case(Shedder::None, 2.0, 2), again]);
        let indices = |job: &Job| job.cases().iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(jobs.iter().map(indices).collect::<Vec<_>>(), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_run_counts_with_what_it_offers_for_long_and_not_with_its_warm_up_or_bursts() {
        let peak = |pieces: &[(f64, f64, f64)]| {
            let piece = |&(from, to, factor)| Piece { from, to, factor };
            let pieces = pieces.iter().map(piece).collect();
            let streams = vec![Stream::new(Criticality::Internal, pieces)];
            Case { streams, ..case(Shedder::None, 1.0, 1) }.peak()
        };
        assert_eq!(peak(&[(-3.0, 0.0, 0.5), (0.0, 6.0, 2.0)]), 2.0);
        assert!((peak(&[(0.0, 0.1, 10.0), (0.1, 1.0, 1.0)]) - 1.9).abs() < 1e-9);
    }

    #[test]
    fn only_servers_with_time_to_spare_run_beside_each_other() {
        let with = |place, factor| {
            let pieces = vec![Piece { from: 0.0, to: 1.0, factor }];
            let streams = vec![Stream::new(Criticality::Internal, pieces)];
            of(vec![Case { place, streams, ..case(Shedder::None, factor, 1) }])[0].lane()
        };
        let server = |kind| Place::Sockets(Server::new(kind));
        assert_eq!(with(server(Kind::Io), 3.0), Lane::Beside);
        assert_eq!(with(server(Kind::Io), 4.0), Lane::Alone);
        assert_eq!(with(server(Kind::Cpu), 1.0), Lane::Alone);
        assert_eq!(with(case(Shedder::None, 2.0, 1).place, 10.0), Lane::Waits);
    }
}
