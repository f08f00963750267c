//! A handler that runs: its place, and where its time is counted.

use std::sync::Arc;

use plimsoll_shedding::verdict::Outcome;

use crate::figures::EndpointFigures;
use crate::gate::Place;

/// Dropping it gives the place back as abandoned.
#[derive(Debug)]
pub(crate) struct Handling {
    place: Place,
    figures: Arc<EndpointFigures>,
}

impl Handling {
    pub(crate) fn new(place: Place, figures: Arc<EndpointFigures>) -> Self {
        figures.waited(place.queue_wait());
        Self { place, figures }
    }

    /// The handler's future is polled.
    pub(crate) fn started(&mut self) {
        self.place.started();
    }

    pub(crate) fn finish(self, outcome: Outcome) {
        let time = self.place.finish(outcome);
        if outcome == Outcome::Answered {
            self.figures.handled(time);
        }
    }
}
