//! Where the loads come from: a file or a generator.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate};

/// The snapshot of that file or generator, on that many hosts if it is said.
pub(super) fn load(name: &str, seed: u64, executors: Option<usize>) -> Result<Snapshot> {
    let snapshot = read(name, seed, executors)?;
    ensure!(!snapshot.shards.is_empty(), "there are no shards in {name}");
    Ok(snapshot)
}

fn read(name: &str, seed: u64, executors: Option<usize>) -> Result<Snapshot> {
    ensure!(executors != Some(0), "--executors must be at least 1");
    if Path::new(name).is_file() {
        let text = std::fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
        let snapshot = Snapshot::parse(&text).with_context(|| name.to_owned())?;
        return Ok(resize(snapshot, executors));
    }
    if name.contains(['/', '\\']) || name.ends_with(".csv") {
        anyhow::bail!("there is no file {name}");
    }
    let size = Size { hosts: executors, ..Size::default() };
    Ok(generate(name, seed, size)?)
}

/// With fewer hosts their shards fold onto those that stay; more begin empty.
fn resize(mut snapshot: Snapshot, executors: Option<usize>) -> Snapshot {
    let Some(count) = executors.filter(|count| *count != snapshot.hosts.len()) else {
        return snapshot;
    };
    let old = std::mem::take(&mut snapshot.hosts);
    snapshot.hosts = old.iter().take(count).cloned().collect();
    snapshot.hosts.extend((old.len()..count).map(|n| format!("added-{n}")));
    for shard in &mut snapshot.shards {
        let index = old.iter().position(|host| *host == shard.host).unwrap_or(0);
        shard.host = snapshot.hosts[index % count].clone();
    }
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_a_file_is_not_taken_for_a_generator() {
        let error = load("missing.csv", 1, None).unwrap_err().to_string();
        assert!(error.contains("no file missing.csv"), "{error}");
    }

    #[test]
    fn fewer_executors_take_everything() {
        let snapshot = resize(load("few-coarse", 1, None).unwrap(), Some(3));
        assert_eq!(snapshot.hosts.len(), 3);
        assert!(snapshot.shards.iter().all(|shard| snapshot.hosts.contains(&shard.host)));
    }
}
