//! The names of metrics. Counters get `_total` from the exposition format.

/// One metric: its name and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

const fn metric(name: &'static str, help: &'static str) -> Metric {
    Metric { name, help }
}

pub(super) const REQUESTS: Metric =
    metric("qalm_requests", "Requests by endpoint, caller, level, verdict and reason");
pub(super) const WOULD_BE_SHED: Metric =
    metric("qalm_would_be_shed", "Requests admitted in dry-run that would have been refused");
pub(super) const BYPASSED: Metric =
    metric("qalm_bypassed", "Requests that were not looked at, such as health checks");
pub(super) const LEFT: Metric =
    metric("qalm_left_queue", "Requests whose client went away while they waited");
pub(super) const QUEUE_WAIT: Metric = metric(
    "qalm_queue_wait_seconds",
    "Time from a request's arrival to the start of its handler, of those admitted",
);
pub(super) const HANDLING: Metric = metric(
    "qalm_handling_seconds",
    "Time from the start of a handler to the end of its answer, without streams",
);
pub(super) const STATE: Metric = metric(
    "qalm_state",
    "How far a queue is overloaded: 0 normal, 1 shed_internal, 2 shed_features, 3 critical, 4 full",
);
pub(super) const LIMIT: Metric = metric("qalm_limit", "Handlers at once that are allowed");
pub(super) const INFLIGHT: Metric = metric("qalm_inflight", "Handlers that run");
pub(super) const QUEUE_LENGTH: Metric =
    metric("qalm_queue_length", "Requests that wait, by queue and level");
pub(super) const MIN_WAIT: Metric =
    metric("qalm_min_wait_seconds", "The least queue wait in the window: overload is above target");
#[cfg(feature = "policy-file")]
pub(super) const POLICY_INFO: Metric =
    metric("qalm_policy_info", "1 for the version of the policy in force");
#[cfg(feature = "policy-file")]
pub(super) const POLICY_LOADS: Metric =
    metric("qalm_policy_loads", "Policies put in force since the start");
#[cfg(feature = "policy-file")]
pub(super) const POLICY_ERRORS: Metric =
    metric("qalm_policy_errors", "Edits of the policy file that were refused");
#[cfg(feature = "policy-file")]
pub(super) const POLICY_IN_TROUBLE: Metric =
    metric("qalm_policy_in_trouble", "1 while what is in the policy file is not in force");
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_CONNECTED: Metric =
    metric("qalm_policy_server_connected", "1 while a policy server is connected");
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_REVISION: Metric = metric(
    "qalm_policy_revision",
    "Revision of the server's policy in force; 0: what holds is not the server's",
);
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_AGE: Metric =
    metric("qalm_policy_age_seconds", "How long the policy in force has been in force here");
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_KEPT: Metric = metric(
    "qalm_policy_kept",
    "1 while the server's policy in force is on disk for the next start",
);
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_OBSERVATIONS: Metric =
    metric("qalm_policy_observations", "Observations sent to the policy server");
#[cfg(feature = "policy-sync")]
pub(super) const POLICY_LEFT_OUT: Metric = metric(
    "qalm_policy_observations_left_out",
    "Observations put off since the policy server did not read",
);
pub(super) const BAD_HEADERS: Metric =
    metric("qalm_bad_headers", "Header values that could not be used, by header");
