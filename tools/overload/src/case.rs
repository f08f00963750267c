//! One run: one shedder, one load, one seed.

use std::time::Duration;

use crate::io::ServicePlan;
use crate::load::Stream;
use crate::record::Record;
use crate::shedders::Shedder;
use crate::sockets::{Pair, Server};

/// Where the service is.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// In this process.
    Io(ServicePlan),
    /// In a process of its own, behind a real socket.
    Sockets(Server),
    /// In two processes in turn: one with the shedder, one without.
    Pair(Pair),
}

/// One run of an experiment.
#[derive(Clone, Debug)]
pub struct Case {
    pub experiment: &'static str,
    /// What sets it apart from others of the experiment, beside shedder, factor and
    /// seed. Often empty.
    pub variant: &'static str,
    pub shedder: Shedder,
    /// The offered load over the capacity: what the result is listed under.
    pub factor: f64,
    pub seed: u64,
    pub streams: Vec<Stream>,
    pub place: Place,
    /// Rates are requests a second, and not parts of the capacity.
    pub per_second: bool,
    /// Seconds of what is measured.
    pub span: f64,
    /// How long to wait for answers after the last request.
    pub drain: Duration,
    /// What the experiment measures beside what every one does.
    pub extra: Extra,
}

/// Named figures of the records of a case, given the capacity.
pub type Extra = fn(&Case, &[Record], f64) -> Vec<(&'static str, f64)>;

impl Case {
    /// The name under which it is listed: of the experiment, and of the variant if
    /// there is one.
    pub fn title(&self) -> String {
        match self.variant {
            "" => self.experiment.to_owned(),
            variant => format!("{}/{variant}", self.experiment),
        }
    }

    /// Whether a run of the other is one of this, whatever it is listed under.
    pub fn is_same_run(&self, other: &Self) -> bool {
        self.shedder == other.shedder
            && self.seed == other.seed
            && self.per_second == other.per_second
            && self.drain == other.drain
            && self.place == other.place
            && self.streams == other.streams
    }

    /// How many endpoints the load asks for.
    pub fn endpoints(&self) -> u32 {
        self.streams.iter().map(|stream| stream.endpoint + 1).max().unwrap_or(1)
    }

    /// Requests a second on average, over the capacity.
    pub fn mean(&self) -> f64 {
        let pieces = self.streams.iter().flat_map(|it| &it.pieces);
        let all: f64 = pieces.map(|it| (it.to - it.from) * it.factor).sum();
        all / self.length()
    }

    /// The greatest load that is held for half a second or more, over the capacity;
    /// not less than the mean.
    pub fn peak(&self) -> f64 {
        const HELD: f64 = 0.5;
        let pieces = || self.streams.iter().flat_map(|it| &it.pieces);
        let mut edges: Vec<f64> = pieces().flat_map(|it| [it.from, it.to]).collect();
        edges.sort_by(f64::total_cmp);
        let spans = edges.windows(2).filter(|it| it[1] - it[0] >= HELD);
        let load = |span: &[f64]| -> f64 {
            let middle = (span[0] + span[1]) / 2.0;
            pieces().filter(|it| it.from <= middle && middle < it.to).map(|it| it.factor).sum()
        };
        spans.map(load).fold(self.mean(), f64::max)
    }

    /// From the first request to the last, in seconds.
    pub fn length(&self) -> f64 {
        let pieces = || self.streams.iter().flat_map(|it| &it.pieces);
        let from = pieces().map(|it| it.from).fold(0.0, f64::min);
        pieces().map(|it| it.to).fold(0.0, f64::max) - from
    }
}
