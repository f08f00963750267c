//! The executor session: the holder's words to and from `plimsoll.v1`.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::holder::{FarewellReason, Holding, Incoming, Outgoing};
use plimsoll_wire::v1;
use v1::farewell::Reason;
use v1::session_request::Message as Request;
use v1::session_response::Message as Response;

/// Everything but a hello and a beat, which carry what the holder does not know.
pub(crate) fn request(message: Outgoing) -> Option<Request> {
    Some(match message {
        Outgoing::Hello { .. } | Outgoing::Beat { .. } => return None,
        Outgoing::Started { shard, generation } => {
            Request::Started(v1::Started { shard_key: shard.to_string(), generation })
        }
        Outgoing::Stopped { shard, generation, error } => Request::Stopped(v1::Stopped {
            shard_key: shard.to_string(),
            generation,
            error: error.unwrap_or_default(),
        }),
        Outgoing::Done { shard, generation } => {
            Request::Done(v1::Done { shard_key: shard.to_string(), generation })
        }
        Outgoing::Leaving => Request::Leaving(v1::Leaving {}),
        Outgoing::Goodbye => Request::Goodbye(v1::Goodbye {}),
    })
}

pub(crate) fn holding(holding: &Holding) -> v1::Holding {
    v1::Holding {
        shard_key: holding.shard.to_string(),
        generation: holding.generation,
        stopping: holding.stopping,
    }
}

/// `None` for what this version does not know: a later server's words.
pub(crate) fn incoming(response: v1::SessionResponse) -> Option<Incoming> {
    Some(match response.message? {
        Response::Welcome(welcome) => Incoming::Welcome {
            lease: Duration::from_millis(welcome.lease_ms),
            beat: Duration::from_millis(welcome.beat_ms),
            grants: grants(welcome.grants),
        },
        Response::Granted(granted) => Incoming::Granted(grants(granted.grants)),
        Response::Revoked(revoked) => Incoming::Revoked(revocations(revoked.revocations)),
        Response::BeatAck(ack) => Incoming::BeatAck { sequence: ack.sequence },
        Response::Farewell(farewell) => Incoming::Farewell(farewell_reason(farewell.reason())),
    })
}

fn grants(grants: Vec<v1::Grant>) -> Vec<(Arc<str>, u64)> {
    grants.into_iter().map(|grant| (grant.shard_key.into(), grant.generation)).collect()
}

fn revocations(revocations: Vec<v1::Revocation>) -> Vec<(Arc<str>, u64, String)> {
    revocations
        .into_iter()
        .map(|revoked| (revoked.shard_key.into(), revoked.generation, revoked.reason))
        .collect()
}

/// A reason that this version does not know is taken for the strictest of those
/// after which an executor may say hello again.
fn farewell_reason(reason: Reason) -> FarewellReason {
    match reason {
        Reason::Goodbye => FarewellReason::Goodbye,
        Reason::Replaced => FarewellReason::Replaced,
        Reason::NamespaceDeleted => FarewellReason::NamespaceDeleted,
        Reason::ServerLeaving => FarewellReason::ServerLeaving,
        Reason::Expired | Reason::Unspecified => FarewellReason::Expired,
    }
}
