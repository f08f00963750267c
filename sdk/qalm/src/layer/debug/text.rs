//! The page as text.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use plimsoll_shedding::Criticality;

use super::picture::{Picture, PolicyLine, ServerLine};
use crate::figures::{EndpointFigures, Event, Histogram, LaneFigures};
use crate::gate::QueueStatus;
use crate::layer::recent::Recent;

const HEAD: &str = "QUEUE                                            STATE          ADMITS  INFLIGHT/LIMIT  \
     WAITING 1/2/3/4      MIN WAIT / TARGET    PREDICTED   RATE/S  PRESSED BY\n";

const ENDPOINTS: &str = "\nENDPOINT                                         QUEUE WAIT p50/p99 UP TO  \
     HANDLING p50/p99 UP TO    BYPASSED  LEFT QUEUE\n";

const REQUESTS: &str = "\nREQUESTS TO                                      BY                        \
     LEVEL  VERDICT        REASON              COUNT\n";

pub(super) fn page(picture: &Picture) -> String {
    let mut page = policy(&picture.policy) + "\n" + HEAD;
    picture.queues.iter().for_each(|queue| page += &line(queue));
    page += ENDPOINTS;
    picture.endpoints.iter().for_each(|it| page += &endpoint(it));
    page += REQUESTS;
    picture.lanes.iter().for_each(|it| page += &requests(it));
    page += "\nLAST REFUSALS, the newest first\n";
    if picture.refusals.is_empty() {
        page += "none\n";
    }
    picture.refusals.iter().for_each(|(ago, refusal)| page += &refused(*ago, refusal));
    page
}

fn policy(it: &PolicyLine) -> String {
    let mut text = format!("POLICY  {}", it.version);
    if let Some(path) = it.path.as_ref().or(it.from.as_ref()) {
        // Writing to a string does not fail.
        let _ = write!(text, "  {path}");
    }
    if let Some(age) = it.age {
        let _ = write!(text, "  in force for {} s", age.as_secs());
    }
    if let Some(trouble) = &it.trouble {
        let _ = write!(text, "\n        NOT in force: {trouble}");
    }
    if let Some(server) = &it.server {
        text += &contact(server);
    }
    text + "\n"
}

fn contact(it: &ServerLine) -> String {
    let age = it.age.map_or(0, |age| age.as_secs());
    match &it.connected {
        Some(server) => {
            format!("\nSERVER  {server}  revision {}  connected for {age} s", it.revision)
        }
        None => format!("\nSERVER  away for {age} s: what holds goes on  revision {}", it.revision),
    }
}

fn line(queue: &QueueStatus) -> String {
    let view = &queue.view;
    let [one, two, three, four] = view.waiting;
    let admits = view.admitted_level.map_or_else(|| "none".to_owned(), |it| format!("1-{it}"));
    let load = format!("{}/{}", view.inflight, view.limit);
    let waiting = format!("{one}/{two}/{three}/{four}");
    let waits = format!("{} / {}", millis(view.min_wait), millis(view.target));
    let (predicted, rate) = (millis(view.predicted_wait), view.service_rate);
    let pressed = view.pressed_by.map_or("", |kind| kind.as_str());
    let name = &queue.name;
    let state = view.state.as_str();
    format!(
        "{name:<48} {state:<14} {admits:<7} {load:<15} {waiting:<20} {waits:<20} \
         {predicted:<11} {rate:<7.0} {pressed}\n"
    )
}

fn endpoint(it: &EndpointFigures) -> String {
    let (wait, handling) = (quantiles(&it.queue_wait), quantiles(&it.handling));
    let (bypassed, left) = (it.bypassed.load(Relaxed), it.left.load(Relaxed));
    format!("{:<48} {wait:<25} {handling:<25} {bypassed:<9} {left}\n", it.name)
}

fn quantiles(it: &Histogram) -> String {
    let show =
        |part| it.quantile(part).map_or_else(|| "-".to_owned(), |s| format!("{:.1}", s * 1e3));
    format!("{} / {} ms", show(0.5), show(0.99))
}

fn requests(it: &LaneFigures) -> String {
    let line = |(level, event, count): (Criticality, Event, u64)| {
        let (verdict, reason) = (event.verdict(), event.reason());
        let (endpoint, caller) = (&it.endpoint, &it.caller);
        format!(
            "{endpoint:<48} {caller:<25} {:<6} {verdict:<14} {reason:<19} {count}\n",
            level.level()
        )
    };
    it.counts().map(line).collect()
}

fn refused(ago: Duration, it: &Recent) -> String {
    let (endpoint, caller, level) = (&it.lane.endpoint, &it.lane.caller, it.level);
    let reason = it.refusal.reason.as_str();
    let dry_run = if it.dry_run { "  (dry-run: admitted)" } else { "" };
    let ago = ago.as_secs_f64();
    format!("{ago:>8.1} s ago  level {level}  {reason:<18} {endpoint}  by {caller}{dry_run}\n")
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}
