//! One endpoint: its queue, its rules, and the lanes of the callers it has seen.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use plimsoll_shedding::policy::{Class, EndpointRules, Source};
use plimsoll_shedding::request::QueueIndex;
use plimsoll_shedding::settings::QueueSettings;

use crate::callers::{Callers, MAX_NAME_BYTES};
use crate::figures::{EndpointFigures, Figures};
use crate::lane::Lane;

type Lanes = HashMap<Box<str>, Lane>;

/// What the policy says of an endpoint.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Under its own name.
    pub(crate) own: EndpointRules,
    /// Of a gRPC method, under the name that it has as HTTP: a call is no way round
    /// the rules for `POST`.
    pub(crate) http: Option<EndpointRules>,
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) queue: QueueIndex,
    pub(crate) figures: Arc<EndpointFigures>,
    rules: Rules,
    unnamed: Lane,
    /// Copied whole when a caller is new, so that looking one up locks nothing.
    lanes: ArcSwap<Lanes>,
}

impl Rules {
    pub(crate) fn queue_name(&self) -> &Arc<str> {
        self.grouped().unwrap_or(&self.own).queue_name()
    }

    pub(crate) fn queue_settings(&self) -> QueueSettings {
        self.grouped().unwrap_or(&self.own).queue_settings()
    }

    /// Those of HTTP, where only they are in a group.
    fn grouped(&self) -> Option<&EndpointRules> {
        let http = self.http.as_ref().filter(|http| http.group().is_some());
        http.filter(|_| self.own.group().is_none())
    }

    /// Of two rules for the same call, the one that makes it matter less.
    fn classify(&self, caller: Option<&str>) -> Class {
        let own = self.own.classify(caller);
        let Some(http) = self.http.as_ref().map(|http| http.classify(caller)) else { return own };
        let is_ruled = matches!(own.level_by, Source::Rule(_));
        if is_ruled && own.level.level() > http.level.level() {
            return Class { level: own.level, level_by: own.level_by, ..http };
        }
        http
    }
}

impl Endpoint {
    pub(crate) fn new(
        name: &Arc<str>,
        rules: Rules,
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

    /// What the policy says of a caller.
    #[cfg(feature = "policy-sync")]
    pub(crate) fn classify(&self, caller: Option<&str>) -> Class {
        self.rules.classify(caller)
    }

    /// Never queued nor refused.
    pub(crate) fn is_bypassed(&self) -> bool {
        self.rules.own.is_bypassed()
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
