//! What a call tells its callee: who calls, how much it matters, for which cohort
//! of users, and how long somebody waits for it.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::Trust;

use super::error::Why;
use crate::context::Context;
use crate::headers::{
    BadHeaders, COHORT, CRITICALITY, DEADLINE_MS, GRPC_TIMEOUT, Incoming, RPC_CALLER, X_CALLER,
    timeout_value,
};

/// Puts the headers on a call and returns the level that it has, if one is known.
/// What the application put there stays, unless it says more than its own request
/// is given: a higher level, or a longer time.
pub(super) fn stamp(
    headers: &mut HeaderMap,
    caller: &HeaderValue,
    context: Option<Context>,
    level_without: Option<Criticality>,
) -> Result<Option<Criticality>, Why> {
    let said = Incoming::read(headers, Trust::default(), &BadHeaders::default());
    let patience = context.and_then(|it| it.remaining());
    if patience.is_some_and(|it| it.is_zero()) {
        return Err(Why::Expired);
    }
    if !headers.contains_key(RPC_CALLER) && !headers.contains_key(X_CALLER) {
        headers.insert(RPC_CALLER, caller.clone());
    }
    if let Some(cohort) = context.map(|it| it.cohort).filter(|_| said.cohort.is_none()) {
        headers.insert(COHORT, HeaderValue::from(u16::from(cohort.number())));
    }
    if let Some(patience) = patience.filter(|&it| said.patience.is_none_or(|said| it < said)) {
        put_patience(headers, patience);
    }
    let own = context.map(|it| it.level);
    let level = match own {
        Some(own) => Some(said.level(own)),
        None => said.criticality.or(level_without),
    };
    if let Some(level) = level {
        headers.insert(CRITICALITY, HeaderValue::from(u16::from(level.level())));
    }
    Ok(level)
}

fn put_patience(headers: &mut HeaderMap, patience: Duration) {
    if is_grpc(headers) {
        headers.insert(GRPC_TIMEOUT, timeout_value(patience));
    } else {
        let millis = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        headers.insert(DEADLINE_MS, HeaderValue::from(millis.clamp(1, 1 << 31)));
    }
}

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc"))
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::criticality::Cohort;
    use tokio::time::Instant;

    use super::*;

    fn context(level: Criticality, millis: Option<u64>) -> Context {
        let deadline = millis.map(|it| Instant::now() + Duration::from_millis(it));
        Context { level, cohort: Cohort::from_hash(9), deadline }
    }

    fn stamped(
        said: &[(&'static str, &'static str)],
        context: Option<Context>,
    ) -> (HeaderMap, Result<Option<Criticality>, Why>) {
        let mut headers: HeaderMap = said
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect();
        let level = stamp(&mut headers, &HeaderValue::from_static("me"), context, None);
        (headers, level)
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_carries_what_its_request_has() {
        let (headers, level) = stamped(&[], Some(context(Criticality::Internal, Some(250))));
        assert_eq!(level, Ok(Some(Criticality::Internal)));
        for (name, value) in
            [(RPC_CALLER, "me"), (CRITICALITY, "4"), (COHORT, "9"), (DEADLINE_MS, "250")]
        {
            assert_eq!(headers[name], value, "{name}");
        }
        assert_eq!(headers.len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn grpc_has_its_own_word_for_a_deadline() {
        let said = [("content-type", "application/grpc+proto")];
        let (headers, _) = stamped(&said, Some(context(Criticality::Feature, Some(250))));
        assert_eq!(headers[GRPC_TIMEOUT], "250000u");
        assert!(!headers.contains_key(DEADLINE_MS));
    }

    #[test]
    fn outside_a_request_only_the_name_is_known() {
        let (headers, level) = stamped(&[], None);
        assert_eq!((headers.len(), level), (1, Ok(None)));
        let mut headers = HeaderMap::new();
        let level = Some(Criticality::Internal);
        let said = stamp(&mut headers, &HeaderValue::from_static("me"), None, level);
        assert_eq!((said, &headers[CRITICALITY]), (Ok(level), &HeaderValue::from_static("4")));
    }

    #[test]
    fn the_application_may_lower_a_level_and_not_raise_it() {
        let feature = Some(context(Criticality::Feature, None));
        assert_eq!(stamped(&[(CRITICALITY, "4")], feature).1, Ok(Some(Criticality::Internal)));
        let (headers, level) = stamped(&[(CRITICALITY, "1")], feature);
        assert_eq!(
            (level, &headers[CRITICALITY]),
            (Ok(Some(Criticality::Feature)), &HeaderValue::from(3_u16))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_application_may_shorten_a_deadline_and_not_lengthen_it() {
        let given = Some(context(Criticality::Feature, Some(250)));
        assert_eq!(stamped(&[(DEADLINE_MS, "100")], given).0[DEADLINE_MS], "100");
        assert_eq!(stamped(&[(DEADLINE_MS, "900")], given).0[DEADLINE_MS], "250");
    }

    #[test]
    fn what_nobody_waits_for_is_not_sent() {
        let over = Some(context(Criticality::Infrastructure, Some(0)));
        assert_eq!(stamped(&[], over).1, Err(Why::Expired));
    }

    #[test]
    fn a_name_that_is_there_stays() {
        assert_eq!(stamped(&[(RPC_CALLER, "else")], None).0[RPC_CALLER], "else");
        assert!(!stamped(&[(X_CALLER, "else")], None).0.contains_key(RPC_CALLER));
    }
}
