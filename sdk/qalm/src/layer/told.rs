//! What the handler is told of its request: the level at which it was admitted, its
//! cohort, what is left of its time. What the caller said of them and is not believed
//! goes no further: who is behind the handler would believe it.

use std::sync::LazyLock;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;

use crate::context::Context;
use crate::headers::{names, timeout_value};

/// Of every cohort, made once.
static COHORTS: LazyLock<[HeaderValue; 128]> =
    LazyLock::new(|| std::array::from_fn(HeaderValue::from));

/// Puts the caller's words right.
pub(super) fn tell(context: &Context, headers: &mut HeaderMap) {
    headers.insert(&names::CRITICALITY, level(context.level));
    headers.insert(&names::COHORT, cohort(context.cohort));
    let left = context.remaining();
    if headers.contains_key(&names::DEADLINE_MS) {
        match left {
            Some(left) => drop(headers.insert(&names::DEADLINE_MS, millis(left))),
            None => drop(headers.remove(&names::DEADLINE_MS)),
        }
    }
    if headers.contains_key(&names::GRPC_TIMEOUT)
        && let Some(left) = left
    {
        headers.insert(&names::GRPC_TIMEOUT, timeout_value(left));
    }
}

fn level(level: Criticality) -> HeaderValue {
    HeaderValue::from_static(match level.level() {
        1 => "1",
        2 => "2",
        3 => "3",
        _ => "4",
    })
}

fn cohort(cohort: Cohort) -> HeaderValue {
    COHORTS[usize::from(cohort.number()) % COHORTS.len()].clone()
}

/// Never longer than it is.
fn millis(span: Duration) -> HeaderValue {
    HeaderValue::from(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
