//! A table's changes to and from `plimsoll.v1`. None of these can fail: what is
//! missing on the wire is empty here, and the table refuses what does not fit.

use std::sync::Arc;

use plimsoll_routing::{Delta, RouteChange, RoutedExecutor, SnapshotPart};

use crate::v1;

// === core to wire ===

impl From<&RoutedExecutor> for v1::RoutedExecutor {
    fn from(executor: &RoutedExecutor) -> Self {
        let entries = executor.metadata.iter();
        Self {
            executor_id: executor.id.to_string(),
            metadata: entries.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

impl From<&RouteChange> for v1::Route {
    fn from(change: &RouteChange) -> Self {
        Self {
            shard_key: change.shard.to_string(),
            executor_id: change.executor.to_string(),
            generation: change.generation,
        }
    }
}

impl From<&SnapshotPart> for v1::Snapshot {
    fn from(part: &SnapshotPart) -> Self {
        Self {
            epoch: part.epoch.to_string(),
            revision: part.revision,
            first: part.first,
            last: part.last,
            executors: executors_to_wire(&part.executors),
            routes: part.routes.iter().map(Into::into).collect(),
            drained_shards: keys_to_wire(&part.drained),
        }
    }
}

impl From<&Delta> for v1::Delta {
    fn from(delta: &Delta) -> Self {
        Self {
            from: delta.from,
            to: delta.to,
            executors: executors_to_wire(&delta.executors),
            routes: delta.routes.iter().map(Into::into).collect(),
            unowned_shards: keys_to_wire(&delta.unowned),
            drained_shards: keys_to_wire(&delta.drained),
            undrained_shards: keys_to_wire(&delta.undrained),
            gone_executors: keys_to_wire(&delta.gone_executors),
        }
    }
}

fn executors_to_wire(executors: &[Arc<RoutedExecutor>]) -> Vec<v1::RoutedExecutor> {
    executors.iter().map(|executor| (&**executor).into()).collect()
}

fn keys_to_wire(keys: &[Arc<str>]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

// === wire to core ===

impl From<v1::RoutedExecutor> for RoutedExecutor {
    fn from(executor: v1::RoutedExecutor) -> Self {
        Self { id: executor.executor_id.into(), metadata: executor.metadata.into_iter().collect() }
    }
}

impl From<v1::Route> for RouteChange {
    fn from(route: v1::Route) -> Self {
        Self {
            shard: route.shard_key.into(),
            executor: route.executor_id.into(),
            generation: route.generation,
        }
    }
}

impl From<v1::Snapshot> for SnapshotPart {
    fn from(snapshot: v1::Snapshot) -> Self {
        Self {
            epoch: snapshot.epoch.into(),
            revision: snapshot.revision,
            first: snapshot.first,
            last: snapshot.last,
            executors: executors_from_wire(snapshot.executors),
            routes: snapshot.routes.into_iter().map(Into::into).collect(),
            drained: keys_from_wire(snapshot.drained_shards),
        }
    }
}

impl From<v1::Delta> for Delta {
    fn from(delta: v1::Delta) -> Self {
        Self {
            from: delta.from,
            to: delta.to,
            executors: executors_from_wire(delta.executors),
            routes: delta.routes.into_iter().map(Into::into).collect(),
            unowned: keys_from_wire(delta.unowned_shards),
            drained: keys_from_wire(delta.drained_shards),
            undrained: keys_from_wire(delta.undrained_shards),
            gone_executors: keys_from_wire(delta.gone_executors),
        }
    }
}

fn executors_from_wire(executors: Vec<v1::RoutedExecutor>) -> Vec<Arc<RoutedExecutor>> {
    executors.into_iter().map(|executor| Arc::new(executor.into())).collect()
}

fn keys_from_wire(keys: Vec<String>) -> Vec<Arc<str>> {
    keys.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_delta_survives_the_wire() {
        let delta = Delta {
            from: 3,
            to: 5,
            executors: vec![executor()],
            routes: vec![route()],
            unowned: vec!["2".into()],
            drained: vec!["3".into()],
            undrained: vec!["4".into()],
            gone_executors: vec!["b".into()],
        };
        assert_eq!(Delta::from(v1::Delta::from(&delta)), delta);
    }

    #[test]
    fn a_part_of_a_snapshot_survives_the_wire() {
        let part = SnapshotPart {
            epoch: "e".into(),
            revision: 9,
            first: true,
            last: false,
            executors: vec![executor()],
            routes: vec![route()],
            drained: vec!["3".into()],
        };
        assert_eq!(SnapshotPart::from(v1::Snapshot::from(&part)), part);
    }

    fn executor() -> Arc<RoutedExecutor> {
        let metadata = BTreeMap::from([("grpc_address".to_owned(), "h:1".to_owned())]);
        Arc::new(RoutedExecutor { id: "a".into(), metadata })
    }

    fn route() -> RouteChange {
        RouteChange { shard: "1".into(), executor: "a".into(), generation: 7 }
    }
}
