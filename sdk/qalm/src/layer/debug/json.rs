//! The page as JSON, for scripts. Written by hand: three shapes do not pay for a
//! dependency.

use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::picture::{Picture, PolicyLine};
use crate::figures::{Event, LaneFigures};
use crate::gate::QueueStatus;
use crate::layer::recent::Recent;

pub(super) fn document(picture: &Picture) -> String {
    let queues: Vec<String> = picture.queues.iter().map(queue).collect();
    let requests: Vec<String> = picture.lanes.iter().flat_map(|lane| counts(lane)).collect();
    let refusals: Vec<String> =
        picture.refusals.iter().map(|(ago, it)| refusal(*ago, it)).collect();
    format!(
        "{{\"policy\":{},\"queues\":[{}],\"requests\":[{}],\"refusals\":[{}]}}\n",
        policy(&picture.policy),
        queues.join(","),
        requests.join(","),
        refusals.join(",")
    )
}

fn policy(it: &PolicyLine) -> String {
    let server = it.server.as_ref();
    format!(
        "{{\"version\":{},\"path\":{},\"age_seconds\":{},\"trouble\":{},\"from\":{},\
         \"revision\":{},\"server\":{}}}",
        string(&it.version),
        it.path.as_deref().map_or_else(null, string),
        it.age.map_or_else(null, |age| age.as_secs().to_string()),
        it.trouble.as_deref().map_or_else(null, string),
        it.from.as_deref().map_or_else(null, string),
        server.map_or_else(null, |it| it.revision.to_string()),
        server.and_then(|it| it.connected.as_deref()).map_or_else(null, string),
    )
}

fn queue(it: &QueueStatus) -> String {
    let view = &it.view;
    let [one, two, three, four] = view.waiting;
    let fields = [
        ("name", string(&it.name)),
        ("state", string(view.state.as_str())),
        ("admitted_level", view.admitted_level.map_or_else(null, |it| it.to_string())),
        ("limit", view.limit.to_string()),
        ("inflight", view.inflight.to_string()),
        ("waiting", format!("[{one},{two},{three},{four}]")),
        ("waiting_bytes", view.waiting_bytes.to_string()),
        ("min_wait_ms", millis(view.min_wait)),
        ("target_ms", millis(view.target)),
        ("interval_ms", millis(view.interval)),
        ("predicted_wait_ms", millis(view.predicted_wait)),
        ("service_rate", number(view.service_rate)),
        ("handling_time_ms", millis(view.handling_time)),
        ("healthy_handling_time_ms", millis(view.healthy_handling_time)),
        ("pressed_by", view.pressed_by.map_or_else(null, |kind| string(kind.as_str()))),
    ];
    object(&fields)
}

fn counts(it: &LaneFigures) -> Vec<String> {
    let count = |(level, event, count): (Criticality, Event, u64)| {
        object(&[
            ("endpoint", string(&it.endpoint)),
            ("caller", string(&it.caller)),
            ("level", level.to_string()),
            ("verdict", string(event.verdict())),
            ("reason", string(event.reason())),
            ("count", count.to_string()),
        ])
    };
    it.counts().map(count).collect()
}

fn refusal(ago: Duration, it: &Recent) -> String {
    object(&[
        ("seconds_ago", number(ago.as_secs_f64())),
        ("endpoint", string(&it.lane.endpoint)),
        ("caller", string(&it.lane.caller)),
        ("level", it.level.to_string()),
        ("reason", string(it.refusal.reason.as_str())),
        ("dry_run", it.dry_run.to_string()),
    ])
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn null() -> String {
    "null".to_owned()
}

fn millis(span: Duration) -> String {
    number(span.as_secs_f64() * 1e3)
}

/// JSON knows no infinity.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { null() }
}

/// RFC 8259, section 7.
fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char < ' ' => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_and_numbers_stay_numbers() {
        assert_eq!(string("a\"b\\c\nd"), r#""a\"b\\c\u000ad""#);
        assert_eq!(number(f64::INFINITY), "null");
        assert_eq!(number(1.5), "1.500");
    }
}
