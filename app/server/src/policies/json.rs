//! The answers as JSON, for HTTP and for scripts on the command line: names as on the
//! wire, times as text of RFC 3339, spans in milliseconds.

use plimsoll_wire::v1;
use serde_json::{Value, json};

use super::{Fault, wire};

/// Of `ListServices`.
pub fn list(list: &v1::ListServicesResponse) -> Value {
    let service = |it: &v1::ServiceSummary| {
        json!({
            "service": it.service,
            "revision": it.revision,
            "instances": it.instances,
            "up_to_date": it.up_to_date,
            "rate": it.rate,
            "shed_share": it.shed_share,
            "unclassified_callers": it.unclassified_callers,
        })
    };
    json!({
        "services": list.services.iter().map(service).collect::<Vec<_>>(),
        "servers_left_out": list.servers_left_out,
    })
}

/// One revision with its text.
pub fn revision(it: &v1::PolicyRevision) -> Value {
    let mut value = head(it);
    value["text"] = it.text.as_str().into();
    value
}

/// Of `PolicyHistory`.
pub fn history(history: &v1::PolicyHistoryResponse) -> Value {
    json!({ "revisions": history.revisions.iter().map(head).collect::<Vec<_>>() })
}

fn head(it: &v1::PolicyRevision) -> Value {
    json!({
        "service": it.service,
        "revision": it.revision,
        "saved_at": moment(it.saved_at.as_ref()),
        "author": it.author,
        "comment": it.comment,
        "rolled_back_to": it.rolled_back_to,
    })
}

/// Of `SetPolicy`.
pub fn saved(saved: &v1::SetPolicyResponse) -> Value {
    json!({ "revision": saved.revision, "findings": saved.findings })
}

/// Of `PreviewPolicy`.
pub fn preview(preview: &v1::PreviewPolicyResponse) -> Value {
    let change = |it: &v1::LevelChange| {
        json!({
            "endpoint": it.endpoint,
            "caller": it.caller,
            "from_level": it.from_level,
            "to_level": it.to_level,
            "from_enforcement": it.from_enforcement,
            "to_enforcement": it.to_enforcement,
            "rate": it.rate,
        })
    };
    let shed = |it: &v1::LevelShed| {
        json!({
            "level": it.level,
            "requests": it.requests,
            "shed": it.shed,
            "would_have": it.would_have,
            "would_shed": it.would_shed,
        })
    };
    json!({
        "findings": preview.findings,
        "changes": preview.changes.iter().map(change).collect::<Vec<_>>(),
        "shed": preview.shed.iter().map(shed).collect::<Vec<_>>(),
        "over_ms": millis(preview.over.as_ref()),
        "servers_left_out": preview.servers_left_out,
    })
}

/// Of `GetTraffic`.
pub fn traffic(traffic: &v1::GetTrafficResponse) -> Value {
    json!({
        "as_of": moment(traffic.as_of.as_ref()),
        "over_ms": millis(traffic.over.as_ref()),
        "traffic": traffic.traffic.iter().map(row).collect::<Vec<_>>(),
        "instances": traffic.instances.iter().map(instance).collect::<Vec<_>>(),
        "slices": traffic.slices.iter().map(slice).collect::<Vec<_>>(),
        "servers_left_out": traffic.servers_left_out,
    })
}

fn row(it: &v1::Traffic) -> Value {
    json!({
        "endpoint": it.endpoint,
        "caller": it.caller,
        "level": it.level,
        "rule": it.rule,
        "admitted": it.admitted,
        "shed": it.shed,
        "expired": it.expired,
        "would_shed": it.would_shed,
        "queue_wait_p50_ms": millis(it.queue_wait_p50.as_ref()),
        "queue_wait_p99_ms": millis(it.queue_wait_p99.as_ref()),
        "handling_p50_ms": millis(it.handling_p50.as_ref()),
        "handling_p99_ms": millis(it.handling_p99.as_ref()),
    })
}

fn instance(it: &v1::InstanceState) -> Value {
    json!({
        "instance": it.instance,
        "version": it.version,
        "revision": it.revision,
        "refused": it.refused,
        "heard_at": moment(it.heard_at.as_ref()),
        "queues": it.queues.iter().map(queue).collect::<Vec<_>>(),
    })
}

fn queue(it: &v1::QueueState) -> Value {
    json!({
        "group": it.group,
        "state": it.state,
        "limit": it.limit,
        "in_flight": it.in_flight,
        "queued": it.queued,
        "target_ms": millis(it.target.as_ref()),
        "queue_wait_ms": millis(it.queue_wait.as_ref()),
        "admits_level": it.admits_level,
    })
}

fn slice(it: &v1::Slice) -> Value {
    let level = |it: &v1::LevelCount| json!({ "level": it.level, "admitted": it.admitted, "shed": it.shed });
    json!({
        "from": moment(it.from.as_ref()),
        "levels": it.levels.iter().map(level).collect::<Vec<_>>(),
        "queue_wait_p99_ms": millis(it.queue_wait_p99.as_ref()),
        "limit": it.limit,
        "in_flight": it.in_flight,
    })
}

/// What went wrong, with the line of the text, or the revision that is there.
pub fn fault(fault: &Fault) -> Value {
    let mut value = error(&fault.to_string());
    match fault {
        Fault::Text { line, reason } => {
            value["error"]["line"] = (*line).into();
            value["error"]["reason"] = reason.as_str().into();
        }
        Fault::Changed { present, head } => {
            value["present"] = match head {
                Some(it) => json!({
                    "revision": present,
                    "author": it.author,
                    "comment": it.comment,
                    "saved_at": wire::moment(it.saved_at_ms).to_string(),
                }),
                None => json!({ "revision": present }),
            };
        }
        _ => {}
    }
    value
}

/// Any other trouble.
pub fn error(message: &str) -> Value {
    json!({ "error": { "message": message } })
}

fn moment(it: Option<&prost_types::Timestamp>) -> Value {
    it.map(ToString::to_string).into()
}

fn millis(it: Option<&prost_types::Duration>) -> f64 {
    it.map_or(0.0, |it| it.seconds as f64 * 1e3 + f64::from(it.nanos) / 1e6)
}
