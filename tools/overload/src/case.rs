//! One run: one shedder, one load, one seed.

use std::time::Duration;

use crate::io::ServicePlan;
use crate::load::Stream;
use crate::record::Record;
use crate::shedders::Shedder;
use crate::sockets::Server;

/// Where the service is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In this process.
    Io(ServicePlan),
    /// In a process of its own, behind a real socket.
    Sockets(Server),
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

    /// From the first request to the last, in seconds.
    pub fn length(&self) -> f64 {
        let pieces = || self.streams.iter().flat_map(|it| &it.pieces);
        let from = pieces().map(|it| it.from).fold(0.0, f64::min);
        pieces().map(|it| it.to).fold(0.0, f64::max) - from
    }
}
