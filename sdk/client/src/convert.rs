//! The executor session: the holder's words to and from `plimsoll.v1`.

use std::time::Duration;

use plimsoll_ownership::holder::{FarewellReason, Holding, Incoming, Outgoing, Revocation};
use plimsoll_ownership::message::{Grant, LeaseEnd, NextOwner, Preparation, State};
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
        Outgoing::Stopped { shard, generation, error, state } => Request::Stopped(v1::Stopped {
            shard_key: shard.to_string(),
            generation,
            error: error.unwrap_or_default(),
            state: state.map(|state| state.to_vec()).unwrap_or_default(),
        }),
        Outgoing::Prepared { shard, generation, error } => Request::Prepared(v1::Prepared {
            shard_key: shard.to_string(),
            generation,
            error: error.unwrap_or_default(),
        }),
        Outgoing::Done { shard, generation } => {
            Request::Done(v1::Done { shard_key: shard.to_string(), generation })
        }
        Outgoing::Leaving => Request::Leaving(v1::Leaving {}),
        Outgoing::Goodbye { returning } => Request::Goodbye(v1::Goodbye { returning }),
    })
}

pub(crate) fn holding(holding: &Holding) -> v1::Holding {
    v1::Holding {
        shard_key: holding.shard.to_string(),
        generation: holding.generation,
        stopping: holding.stopping,
    }
}

/// What one message of the server says, in order; nothing for what this version
/// does not know: a later server's words.
pub(crate) fn incoming(response: v1::SessionResponse) -> Vec<Incoming> {
    let Some(message) = response.message else { return Vec::new() };
    vec![match message {
        Response::Welcome(welcome) => welcomed(welcome),
        Response::Granted(granted) => Incoming::Granted(grants(granted.grants)),
        Response::Revoked(revoked) => {
            Incoming::Revoked(revoked.revocations.into_iter().map(revocation).collect())
        }
        Response::BeatAck(ack) => Incoming::BeatAck { sequence: ack.sequence },
        Response::Farewell(farewell) => Incoming::Farewell(farewell_reason(farewell.reason())),
        Response::Prepare(prepare) => return prepared(prepare.preparations),
    }]
}

fn welcomed(welcome: v1::Welcome) -> Incoming {
    Incoming::Welcome {
        lease: Duration::from_millis(welcome.lease_ms),
        beat: Duration::from_millis(welcome.beat_ms),
        lease_end: lease_end(welcome.lease_end()),
        grants: grants(welcome.grants),
        preparations: welcome.preparations.into_iter().map(preparation).collect(),
    }
}

/// What does not come any more is a message of its own.
fn prepared(preparations: Vec<v1::Preparation>) -> Vec<Incoming> {
    let (off, on): (Vec<_>, Vec<_>) = preparations.into_iter().partition(|it| it.abandoned);
    let all = |some: Vec<v1::Preparation>| some.into_iter().map(preparation).collect::<Vec<_>>();
    let (off, on) = (all(off), all(on));
    let mut messages = Vec::new();
    if !off.is_empty() {
        messages.push(Incoming::Abandon(off));
    }
    if !on.is_empty() {
        messages.push(Incoming::Prepare(on));
    }
    messages
}

fn grants(grants: Vec<v1::Grant>) -> Vec<Grant> {
    grants.into_iter().map(grant).collect()
}

fn grant(grant: v1::Grant) -> Grant {
    let previous = grant.previous_executor_id;
    Grant {
        shard: grant.shard_key.into(),
        generation: grant.generation,
        state: (!grant.state.is_empty()).then(|| State::from(grant.state)),
        previous: (!previous.is_empty()).then(|| previous.into()),
    }
}

fn preparation(preparation: v1::Preparation) -> Preparation {
    Preparation { shard: preparation.shard_key.into(), generation: preparation.generation }
}

fn revocation(revoked: v1::Revocation) -> Revocation {
    let (executor, address) = (revoked.next_executor_id, revoked.next_address);
    let next = (!executor.is_empty())
        .then(|| NextOwner { executor: executor.into(), address: address.into() });
    Revocation {
        shard: revoked.shard_key.into(),
        generation: revoked.generation,
        reason: revoked.reason,
        next,
    }
}

fn lease_end(lease_end: v1::LeaseEnd) -> LeaseEnd {
    match lease_end {
        v1::LeaseEnd::Keep => LeaseEnd::Keep,
        v1::LeaseEnd::Stop | v1::LeaseEnd::Unspecified => LeaseEnd::Stop,
    }
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
