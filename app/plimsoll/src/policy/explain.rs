//! What would happen to one request.

use plimsoll_shedding::policy::{Matter, Source, Table};
use serde::Serialize;

use super::report::Queue;

#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    pub(super) endpoint: String,
    pub(super) caller: Option<String>,
    /// Never queued nor refused; the rest does not apply then.
    pub(super) bypassed: bool,
    pub(super) criticality: u8,
    pub(super) criticality_by: String,
    pub(super) enforcement: &'static str,
    pub(super) enforcement_by: String,
    pub(super) group: Option<String>,
    pub(super) queue_name: String,
    pub(super) queue: Queue,
}

pub(super) fn explain(table: &Table, endpoint: &str, caller: Option<&str>) -> Explanation {
    let rules = table.endpoint(endpoint);
    let class = rules.classify(caller);
    let group = rules.group().and_then(|it| table.policy().groups.get(it.0 as usize));
    Explanation {
        endpoint: endpoint.to_owned(),
        caller: caller.map(str::to_owned),
        bypassed: rules.is_bypassed(),
        criticality: class.level.level(),
        criticality_by: by(table, class.level_by),
        enforcement: class.enforcement.as_str(),
        enforcement_by: by(table, class.enforcement_by),
        group: group.map(|it| it.name.clone()),
        queue_name: rules.queue_name().to_string(),
        queue: Queue::new(&rules.queue_settings()),
    }
}

fn by(table: &Table, source: Source) -> String {
    match source {
        Source::Rule(index) => table.named(Matter::Rule(index)),
        Source::Group(index) => table.named(Matter::Group(index)),
        Source::Default => "the default".to_owned(),
    }
}
