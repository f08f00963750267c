//! One endpoint: its queue, its rules, and the lanes of the callers it has seen.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use plimsoll_shedding::policy::EndpointRules;
use plimsoll_shedding::request::QueueIndex;

use crate::callers::{Callers, MAX_NAME_BYTES};
use crate::figures::{EndpointFigures, Figures};
use crate::lane::Lane;

type Lanes = HashMap<Box<str>, Lane>;

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) queue: QueueIndex,
    pub(crate) figures: Arc<EndpointFigures>,
    rules: EndpointRules,
    unnamed: Lane,
    /// Copied whole when a caller is new, so that looking one up locks nothing.
    lanes: ArcSwap<Lanes>,
}

impl Endpoint {
    pub(crate) fn new(
        name: &Arc<str>,
        rules: EndpointRules,
        queue: QueueIndex,
        callers: &Callers,
        figures: &Figures,
    ) -> Self {
        let unnamed = callers.unnamed();
        let unnamed = Lane {
            caller: unnamed.index,
            class: rules.classify(None),
            figures: figures.lane(name, &unnamed.label),
        };
        let figures = figures.endpoint(name);
        Self { queue, figures, rules, unnamed, lanes: ArcSwap::default() }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.figures.name
    }

    /// Never queued nor refused.
    pub(crate) fn is_bypassed(&self) -> bool {
        self.rules.is_bypassed()
    }

    /// The lane of a caller. Names that are too long are nobody's.
    pub(crate) fn lane(&self, caller: Option<&str>, callers: &Callers, all: &Figures) -> Lane {
        let Some(name) = caller.filter(|name| name.len() <= MAX_NAME_BYTES) else {
            return self.unnamed.clone();
        };
        let lanes: Guard<Arc<Lanes>> = self.lanes.load();
        match lanes.get(name) {
            Some(lane) => lane.clone(),
            None => self.new_lane(name, callers, all),
        }
    }

    fn new_lane(&self, name: &str, callers: &Callers, all: &Figures) -> Lane {
        let caller = callers.named(name);
        let lane = Lane {
            caller: caller.index,
            class: self.rules.classify(Some(name)),
            figures: all.lane(self.name(), &caller.label),
        };
        if caller.known {
            self.lanes.rcu(|lanes| {
                let mut lanes = Lanes::clone(lanes);
                lanes.insert(name.into(), lane.clone());
                lanes
            });
        }
        lane
    }
}
