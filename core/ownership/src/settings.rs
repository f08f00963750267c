//! The settings of one namespace: one table of names, so that the configuration
//! file, the wire, `smctl` and the guide can never disagree.
//!
//! A setting is changed by name and text (`"heartbeat_ttl"`, `"10s"`) and is
//! checked alone; [`Settings::set_all`] also checks what belongs together and
//! changes nothing if anything is wrong.

use std::time::Duration;

use plimsoll_placement::policy::{Mode, Policy};

use crate::capacity::HostCapacities;
use crate::duration;
use crate::message::LeaseEnd;

/// Everything about a namespace that an operator may tune while it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub policy: Policy,
    /// What hosts can carry, where the executors on them do not say it.
    pub host_capacities: HostCapacities,
    /// How often a cycle looks for imbalance.
    pub period: Duration,
    /// The least time between two cycles.
    pub rebalance_cooldown: Duration,
    /// The lease of executors with a session.
    pub lease: Duration,
    /// How often executors with a session beat.
    pub beat: Duration,
    /// What executors do when their lease ends and no server was heard.
    pub lease_end: LeaseEnd,
    /// How long the next owner of a shard may make ready before the present one
    /// is told to stop; 0: nobody is asked to.
    pub prepare_timeout: Duration,
    /// How long the shards of an executor are kept for it that said it comes
    /// back; 0: not at all.
    pub restart_grace: Duration,
    /// The lease of executors that send unary heartbeats.
    pub heartbeat_ttl: Duration,
    /// Whether shards that kill their owners are quarantined.
    pub crash_loop_enabled: bool,
    /// How many owners on different hosts must die.
    pub crash_loop_deaths: u32,
    /// How soon after they got the shard.
    pub crash_loop_window: Duration,
    /// Whether a silence of many executors at once is waited out.
    pub mass_failure_enabled: bool,
    /// The part of the executors that makes it one, 0 to 1, exclusive.
    pub mass_failure_proportion: f64,
}

/// Why a setting was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("there is no setting {name:?}; the settings are: {known}")]
    Unknown { name: String, known: String },
    #[error("{value:?} is not a value for {name}: it must be {must_be}")]
    Invalid { name: &'static str, value: String, must_be: &'static str },
    #[error("{0}")]
    Together(&'static str),
}

/// One setting: how it is called, what it is for, how it is read and written.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub help: &'static str,
    must_be: &'static str,
    read: fn(&mut Settings, &str) -> Option<()>,
    write: fn(&Settings) -> String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            host_capacities: HostCapacities::default(),
            period: Duration::from_secs(1),
            rebalance_cooldown: Duration::from_millis(250),
            lease: Duration::from_secs(2),
            beat: Duration::from_millis(500),
            lease_end: LeaseEnd::Stop,
            prepare_timeout: Duration::from_secs(5),
            restart_grace: Duration::ZERO,
            heartbeat_ttl: Duration::from_secs(10),
            crash_loop_enabled: true,
            crash_loop_deaths: 3,
            crash_loop_window: Duration::from_secs(60),
            mass_failure_enabled: true,
            mass_failure_proportion: 0.5,
        }
    }
}

impl Settings {
    /// The defaults with these changed.
    ///
    /// # Errors
    /// As [`Settings::set_all`].
    pub fn from_entries<'a>(
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Error> {
        let mut settings = Self::default();
        settings.set_all(entries)?;
        Ok(settings)
    }

    /// Changes the settings named, all of them or none.
    ///
    /// # Errors
    /// An unknown name, a value out of its range, or values that contradict
    /// each other.
    pub fn set_all<'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        let mut changed = self.clone();
        for (name, value) in entries {
            changed.set(name, value)?;
        }
        changed.check_together()?;
        *self = changed;
        Ok(())
    }

    /// Every setting with its value, in the order of the table.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        FIELDS.iter().map(|field| (field.name, (field.write)(self))).collect()
    }

    /// The settings that differ from the defaults, in the order of the table.
    pub fn changed_entries(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        let changed = |field: &&Field| (field.write)(self) != (field.write)(&default);
        FIELDS.iter().filter(changed).map(|field| (field.name, (field.write)(self))).collect()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
            return Err(unknown(name));
        };
        (field.read)(self, value.trim()).ok_or_else(|| Error::Invalid {
            name: field.name,
            value: value.to_owned(),
            must_be: field.must_be,
        })
    }

    fn check_together(&self) -> Result<(), Error> {
        if self.beat * 2 > self.lease {
            return Err(Error::Together(
                "beat must be at most half of lease, or one lost beat ends it",
            ));
        }
        if self.heartbeat_ttl < self.lease {
            return Err(Error::Together(
                "heartbeat_ttl must be at least lease: after a restart the server waits that long for executors of either kind",
            ));
        }
        let adaptive = &self.policy.adaptive;
        if adaptive.min_tolerance > adaptive.max_tolerance {
            return Err(Error::Together(
                "load_balancing_adaptive.min_tolerance must not exceed max_tolerance",
            ));
        }
        if self.rebalance_cooldown > self.period {
            return Err(Error::Together("rebalance_cooldown must not exceed period"));
        }
        Ok(())
    }
}

fn unknown(name: &str) -> Error {
    let known: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
    Error::Unknown { name: name.to_owned(), known: known.join(", ") }
}

/// Every setting there is.
pub const FIELDS: &[Field] = &[
    Field {
        name: "load_balancing_mode",
        help: "Which planner decides: ring, naive, greedy or adaptive.",
        must_be: "ring, naive, greedy or adaptive",
        read: |s, v| Mode::parse(v).map(|mode| s.policy.mode = mode),
        write: |s| s.policy.mode.as_str().to_owned(),
    },
    Field {
        name: "load_balancing_naive.max_deviation",
        help: "Hottest over coldest host below which naive moves nothing.",
        must_be: "a number of at least 1",
        read: |s, v| number(v, 1.0, f64::MAX).map(|x| s.policy.naive.max_deviation = x),
        write: |s| s.policy.naive.max_deviation.to_string(),
    },
    Field {
        name: "load_balancing_greedy.per_shard_cooldown",
        help: "How long a shard that moved for balance stays where it is.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.policy.greedy.per_shard_cooldown = x),
        write: |s| duration::print(s.policy.greedy.per_shard_cooldown),
    },
    Field {
        name: "load_balancing_greedy.load_smoothing_time_constant",
        help: "Time constant of the exponential moving average of loads.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.policy.greedy.load_smoothing_time_constant = x),
        write: |s| duration::print(s.policy.greedy.load_smoothing_time_constant),
    },
    Field {
        name: "load_balancing_greedy.move_budget_proportion",
        help: "The part of all shards that one cycle may move.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.policy.greedy.move_budget_proportion = x),
        write: |s| s.policy.greedy.move_budget_proportion.to_string(),
    },
    Field {
        name: "load_balancing_greedy.hysteresis_upper_band",
        help: "A host above this times the mean is hot.",
        must_be: "a number of at least 1",
        read: |s, v| number(v, 1.0, f64::MAX).map(|x| s.policy.greedy.hysteresis_upper_band = x),
        write: |s| s.policy.greedy.hysteresis_upper_band.to_string(),
    },
    Field {
        name: "load_balancing_greedy.hysteresis_lower_band",
        help: "A host below this times the mean has room.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.policy.greedy.hysteresis_lower_band = x),
        write: |s| s.policy.greedy.hysteresis_lower_band.to_string(),
    },
    Field {
        name: "load_balancing_greedy.severe_imbalance_ratio",
        help: "From this maximum over mean on, any host may take load.",
        must_be: "a number of at least 1",
        read: |s, v| number(v, 1.0, f64::MAX).map(|x| s.policy.greedy.severe_imbalance_ratio = x),
        write: |s| s.policy.greedy.severe_imbalance_ratio.to_string(),
    },
    Field {
        name: "load_balancing_adaptive.per_shard_cooldown",
        help: "How long a shard that moved for balance stays where it is.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.policy.adaptive.per_shard_cooldown = x),
        write: |s| duration::print(s.policy.adaptive.per_shard_cooldown),
    },
    Field {
        name: "load_balancing_adaptive.load_smoothing_time_constant",
        help: "Time constant of the moving average of loads; a step for good is followed at once.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.policy.adaptive.load_smoothing_time_constant = x),
        write: |s| duration::print(s.policy.adaptive.load_smoothing_time_constant),
    },
    Field {
        name: "load_balancing_adaptive.move_budget_proportion",
        help: "The part of all shards that one cycle may move.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.policy.adaptive.move_budget_proportion = x),
        write: |s| s.policy.adaptive.move_budget_proportion.to_string(),
    },
    Field {
        name: "load_balancing_adaptive.min_tolerance",
        help: "A host this part of its share above it is never hot, however quiet its loads are.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.policy.adaptive.min_tolerance = x),
        write: |s| s.policy.adaptive.min_tolerance.to_string(),
    },
    Field {
        name: "load_balancing_adaptive.max_tolerance",
        help: "A host this part of its share above it is always hot, however noisy its loads are.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.policy.adaptive.max_tolerance = x),
        write: |s| s.policy.adaptive.max_tolerance.to_string(),
    },
    Field {
        name: "load_balancing_adaptive.newcomer_delay",
        help: "How long a new executor is given only what has nowhere else to be, so that a rolling restart moves shards once.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.policy.adaptive.newcomer_delay = x),
        write: |s| duration::print(s.policy.adaptive.newcomer_delay),
    },
    Field {
        name: "host_capacities",
        help: "What hosts can carry beside the others, such as \"big-1=2, small-3=0.5\"; overrides the metadata plimsoll.capacity of their executors.",
        must_be: "a list such as \"big-1=2, small-3=0.5\" with capacities from 0.001 to 1000",
        read: |s, v| HostCapacities::parse(v).map(|x| s.host_capacities = x),
        write: |s| s.host_capacities.to_string(),
    },
    Field {
        name: "period",
        help: "How often a cycle looks for imbalance.",
        must_be: DURATION,
        read: |s, v| span(v, 50).map(|x| s.period = x),
        write: |s| duration::print(s.period),
    },
    Field {
        name: "rebalance_cooldown",
        help: "The least time between two cycles.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| duration::parse(v).map(|x| s.rebalance_cooldown = x),
        write: |s| duration::print(s.rebalance_cooldown),
    },
    Field {
        name: "lease",
        help: "How long an executor with a session may go on without hearing from the server.",
        must_be: DURATION,
        read: |s, v| span(v, 100).map(|x| s.lease = x),
        write: |s| duration::print(s.lease),
    },
    Field {
        name: "beat",
        help: "How often executors with a session beat; at most half of lease.",
        must_be: DURATION,
        read: |s, v| span(v, 10).map(|x| s.beat = x),
        write: |s| duration::print(s.beat),
    },
    Field {
        name: "lease_end",
        help: "What executors with a session do when their lease ends and no server was heard: stop (never two owners), or keep (run on; a shard may run twice if its executor was only cut off).",
        must_be: "stop or keep",
        read: |s, v| LeaseEnd::parse(v).map(|x| s.lease_end = x),
        write: |s| s.lease_end.as_str().to_owned(),
    },
    Field {
        name: "prepare_timeout",
        help: "How long the next owner of a shard may prepare before the present one is told to stop; 0s: planned moves do not wait for that.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| span(v, 0).map(|x| s.prepare_timeout = x),
        write: |s| duration::print(s.prepare_timeout),
    },
    Field {
        name: "restart_grace",
        help: "How long the shards of an executor are kept for it that said goodbye and comes back under the same id; 0s: not at all.",
        must_be: DURATION_OR_ZERO,
        read: |s, v| span(v, 0).map(|x| s.restart_grace = x),
        write: |s| duration::print(s.restart_grace),
    },
    Field {
        name: "heartbeat_ttl",
        help: "The lease of executors that send unary heartbeats.",
        must_be: DURATION,
        read: |s, v| span(v, 100).map(|x| s.heartbeat_ttl = x),
        write: |s| duration::print(s.heartbeat_ttl),
    },
    Field {
        name: "crash_loop.enabled",
        help: "Whether shards that kill their owners are quarantined.",
        must_be: "true or false",
        read: |s, v| v.parse().ok().map(|x| s.crash_loop_enabled = x),
        write: |s| s.crash_loop_enabled.to_string(),
    },
    Field {
        name: "crash_loop.deaths",
        help: "How many owners, on different hosts, must die.",
        must_be: "a whole number of at least 2",
        read: |s, v| v.parse().ok().filter(|x| *x >= 2).map(|x| s.crash_loop_deaths = x),
        write: |s| s.crash_loop_deaths.to_string(),
    },
    Field {
        name: "crash_loop.window",
        help: "How soon after they got the shard they must die.",
        must_be: DURATION,
        read: |s, v| span(v, 1).map(|x| s.crash_loop_window = x),
        write: |s| duration::print(s.crash_loop_window),
    },
    Field {
        name: "mass_failure.enabled",
        help: "Whether a silence of many executors at once is waited out for one lease.",
        must_be: "true or false",
        read: |s, v| v.parse().ok().map(|x| s.mass_failure_enabled = x),
        write: |s| s.mass_failure_enabled.to_string(),
    },
    Field {
        name: "mass_failure.proportion",
        help: "More than this part of the executors makes it a mass failure.",
        must_be: "a number from 0 to 1",
        read: |s, v| number(v, 0.0, 1.0).map(|x| s.mass_failure_proportion = x),
        write: |s| s.mass_failure_proportion.to_string(),
    },
];

const DURATION: &str = "a duration such as 500ms, 10s or 1m, not too short";
const DURATION_OR_ZERO: &str = "a duration such as 500ms, 10s or 1m";

fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= least && *x <= most)
}

fn span(text: &str, least_millis: u64) -> Option<Duration> {
    let longest = Duration::from_secs(24 * 60 * 60);
    duration::parse(text).filter(|x| *x >= Duration::from_millis(least_millis) && *x <= longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut settings = Settings::default();
        for (name, value) in settings.entries() {
            settings.set(name, &value).unwrap();
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn only_changes_are_stored() {
        let settings = Settings::from_entries([("lease", "3s"), ("period", "1s")]).unwrap();
        assert_eq!(settings.changed_entries(), [("lease", "3s".to_owned())]);
    }

    #[test]
    fn one_bad_value_changes_nothing() {
        let mut settings = Settings::default();
        let error = settings.set_all([("lease", "3s"), ("crash_loop.deaths", "0")]).unwrap_err();
        assert_eq!(settings, Settings::default());
        assert!(error.to_string().contains("crash_loop.deaths"), "{error}");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = Settings::from_entries([("leese", "3s")]).unwrap_err();
        assert!(error.to_string().contains("heartbeat_ttl"), "{error}");
    }

    #[test]
    fn a_beat_as_long_as_the_lease_is_refused() {
        assert!(Settings::from_entries([("beat", "2s")]).is_err());
    }

    #[test]
    fn not_a_number_is_no_number() {
        assert!(Settings::from_entries([("mass_failure.proportion", "NaN")]).is_err());
    }
}
