//! The page: a table for each part of the system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::seen::Seen;
use crate::uses::Uses;

const HEAD: &str = "# Metrics

<!-- Written by `UPDATE=1 cargo test -p plimsoll-testkit --test metrics`, which runs every part and reads \
what it exposes. Without UPDATE the same test fails if this page is not that. -->

Every part exposes its metrics as text for Prometheus (OpenMetrics 1.0). Counters only grow, and start at 0 with \
the process. Times are in seconds and loads in the application's unit, if the meaning does not say otherwise. \
*Used by* names dashboards of [deploy/grafana](../deploy/grafana) and, as links into the [runbook](runbook.md), \
alerts of [deploy/prometheus](../deploy/prometheus); [deploy](../deploy/README.md) says how to install both. \
Which to set an alarm on first: [operate.md](operate.md#metrics-worth-an-alarm).
";

/// A part of the system: how its metrics begin, its heading, where they are.
type Part = (&'static str, &'static str, &'static str);

/// The longest beginning that fits wins.
const PARTS: [Part; 6] = [
    (
        "plimsoll_proxy_",
        "The sidecar",
        "`plimsoll proxy`: `/metrics` on the port of `--metrics-listen` ([proxy.md](proxy.md)), beside those of QALM.",
    ),
    (
        "plimsoll_policy_",
        "Servers: policies of services",
        "`plimsoll server`: `/metrics` on the HTTP port, 7944.",
    ),
    (
        "plimsoll_executor_",
        "Executors (Rust SDK)",
        "In the application's registry: `executor.register(&mut registry)`, feature `prometheus` of `plimsoll-client`.",
    ),
    (
        "plimsoll_spectator_",
        "Spectators (Rust SDK)",
        "In the application's registry: `spectator.register(&mut registry)`, feature `prometheus` of `plimsoll-client`.",
    ),
    (
        "qalm_",
        "QALM",
        "In the application's registry: `layer.register(&mut registry)`, feature `prometheus` of `plimsoll-qalm`; through the `metrics` facade: feature `metrics`; and on the page of the sidecar.",
    ),
    (
        "",
        "Servers: shards, executors, leadership",
        "`plimsoll server`: `/metrics` on the HTTP port, 7944. Figures of a namespace are exposed by the server that leads it. Those that the Go Shard Manager has too have its names, `shard_distributor_*`.",
    ),
];

/// In which order the parts stand.
const ORDER: [&str; 6] = [
    "",
    "plimsoll_policy_",
    "plimsoll_executor_",
    "plimsoll_spectator_",
    "qalm_",
    "plimsoll_proxy_",
];

/// One that looks like another part's.
const OF_SERVERS: [&str; 1] = ["plimsoll_executor_sessions"];

/// What each label says.
const LABELS: [(&str, &str); 17] = [
    ("caller", "who calls, as the policy names it; `other` beyond the bound on names"),
    ("code", "a gRPC status, e.g. `not-found`"),
    ("endpoint", "what is called, e.g. `GET /menu/{dish}`; `other` beyond the bound on names"),
    ("event", "what happened to a shard, an executor or a namespace, as in `smctl shard history`"),
    ("header", "a header field of QALM's"),
    ("level", "criticality, `1` to `4`"),
    ("namespace", "the namespace"),
    ("operation", "a method of either wire, or a message of a session"),
    (
        "outcome",
        "`answered` (whatever the status), `cancelled` by the client, or what went wrong: [proxy.md](proxy.md)",
    ),
    ("protocol", "`http1`, `http2` or `grpc`; of connections to the service `http1` or `http2`"),
    ("queue", "an isolation group; an endpoint that is in none has a queue of its own"),
    ("reason", "why a request was refused, or would have been; empty if it was admitted"),
    ("service", "the service that a policy is of"),
    ("status", "`active`, `leaving`, `drained` or `silent`"),
    ("verdict", "`admitted`, `shed` or `expired`"),
    ("version", "of the policy"),
    ("wire", "`v1` (ours) or `sharddistributor` (of Go clients)"),
];

/// The whole page.
pub(crate) fn write(metrics: &BTreeMap<String, Seen>, uses: &Uses) -> String {
    let mut page = HEAD.to_owned();
    for begins in ORDER {
        let of_part: Vec<_> = metrics.iter().filter(|(name, _)| part(name).0 == begins).collect();
        if let Some((name, _)) = of_part.first() {
            section(&mut page, part(name), &of_part, uses);
        }
    }
    labels(&mut page, metrics);
    page
}

fn part(name: &str) -> &'static Part {
    let fits = |part: &&Part| !OF_SERVERS.contains(&name) && name.starts_with(part.0);
    // The last one fits every name.
    PARTS.iter().find(fits).unwrap_or(&PARTS[PARTS.len() - 1])
}

fn section(page: &mut String, part: &Part, metrics: &[(&String, &Seen)], uses: &Uses) {
    let (_, heading, place) = part;
    let _ = write!(page, "\n## {heading}\n\n{place}\n\n");
    page.push_str("| metric | type | labels | meaning | used by |\n|---|---|---|---|---|\n");
    for (name, seen) in metrics {
        let total = if seen.kind == "counter" { "_total" } else { "" };
        let labels = join(seen.labels.iter().map(|label| format!("`{label}`")));
        let (kind, help, used) = (&seen.kind, seen.help.replace('|', "\\|"), used(name, uses));
        let _ = writeln!(page, "| `{name}{total}` | {kind} | {labels} | {help} | {used} |");
    }
}

fn used(name: &str, uses: &Uses) -> String {
    let none = BTreeSet::new();
    let dashboards = uses.dashboards.get(name).unwrap_or(&none).iter().cloned();
    let link = |alert: &String| format!("[{alert}](runbook.md#{})", alert.to_lowercase());
    let alerts = uses.alerts.get(name).unwrap_or(&none).iter().map(link);
    join(dashboards.chain(alerts))
}

fn labels(page: &mut String, metrics: &BTreeMap<String, Seen>) {
    let used: BTreeSet<&str> =
        metrics.values().flat_map(|seen| seen.labels.iter().map(String::as_str)).collect();
    page.push_str("\n## Labels\n\n| label | what it says |\n|---|---|\n");
    for label in used {
        let row = LABELS.iter().find(|(name, _)| *name == label);
        let (_, says) = row.unwrap_or_else(|| panic!("say in page.rs what the label {label} says"));
        let _ = writeln!(page, "| `{label}` | {says} |");
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
