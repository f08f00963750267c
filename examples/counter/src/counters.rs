//! The counters of the shards that run here, in memory, from where they are handed
//! to the next owner; with a data directory also in one file a shard, written with
//! every change. Several processes may share the directory: of one shard only its
//! owner reads and writes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use plimsoll_client::{BoxError, Shard, Shards};

#[derive(Debug)]
pub(crate) struct Counters {
    data: Option<PathBuf>,
    here: Mutex<HashMap<String, OneShard>>,
}

#[derive(Debug, Default)]
struct OneShard {
    counts: BTreeMap<String, u64>,
    /// Requests since the load was last asked for.
    requests: u32,
}

impl Counters {
    pub(crate) fn new(data: Option<PathBuf>) -> Result<Self> {
        if let Some(data) = &data {
            fs::create_dir_all(data).with_context(|| format!("cannot make {}", data.display()))?;
        }
        Ok(Self { data, here: Mutex::default() })
    }

    /// The count; `None` if the shard does not run here.
    pub(crate) fn get(&self, shard: &str, name: &str) -> Option<u64> {
        let mut here = self.here();
        let shard = here.get_mut(shard)?;
        shard.requests += 1;
        Some(shard.counts.get(name).copied().unwrap_or_default())
    }

    /// The new count; `None` if the shard does not run here.
    pub(crate) fn add(&self, shard: &str, name: &str, by: u64) -> Result<Option<u64>> {
        let mut here = self.here();
        let Some(one) = here.get_mut(shard) else { return Ok(None) };
        one.requests += 1;
        let count = one.counts.entry(name.to_owned()).or_default();
        *count = count.saturating_add(by);
        let count = *count;
        if let Some(data) = &self.data {
            save(&file(data, shard), &one.counts)?;
        }
        Ok(Some(count))
    }

    /// A file knows better than the owner before: it outlives crashes.
    fn start(&self, shard: &str, handed_over: Option<&[u8]>) -> Result<()> {
        let counts = match (&self.data, handed_over) {
            (Some(data), _) => load(&file(data, shard))?,
            (None, Some(state)) => serde_json::from_slice(state)
                .with_context(|| format!("what was handed over of {shard} is no counters"))?,
            (None, None) => BTreeMap::new(),
        };
        self.here().insert(shard.to_owned(), OneShard { counts, requests: 0 });
        Ok(())
    }

    /// What was counted.
    fn stop(&self, shard: &str) -> BTreeMap<String, u64> {
        self.here().remove(shard).map(|one| one.counts).unwrap_or_default()
    }

    fn requests(&self, shard: &str) -> Option<u32> {
        Some(std::mem::take(&mut self.here().get_mut(shard)?.requests))
    }

    /// A panic under the lock leaves a map that is still whole.
    fn here(&self) -> MutexGuard<'_, HashMap<String, OneShard>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counters as an executor starts and stops them.
pub(crate) struct CountersHere(pub(crate) Arc<Counters>);

impl Shards for CountersHere {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        Ok(self.0.start(shard.key(), shard.state())?)
    }

    async fn stop(&self, shard: Shard) {
        self.0.stop(shard.key());
    }

    async fn hand_over(&self, shard: Shard) -> Vec<u8> {
        let counts = self.0.stop(shard.key());
        serde_json::to_vec(&counts).unwrap_or_else(|error| {
            tracing::error!(shard = shard.key(), %error, "the counters are not handed over");
            Vec::new()
        })
    }

    /// Requests since the last time.
    fn load(&self, shard: &str) -> Option<f64> {
        self.0.requests(shard).map(f64::from)
    }
}

/// Shard keys may hold anything, file names may not.
fn file(data: &Path, shard: &str) -> PathBuf {
    let name: String = shard.bytes().map(|byte| format!("{byte:02x}")).collect();
    data.join(name + ".json")
}

fn load(file: &Path) -> Result<BTreeMap<String, u64>> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} holds no counters", file.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Whole or not at all.
fn save(file: &Path, counts: &BTreeMap<String, u64>) -> Result<()> {
    let part = file.with_extension("part");
    fs::write(&part, serde_json::to_vec(counts)?)
        .and_then(|()| fs::rename(&part, file))
        .with_context(|| format!("cannot write {}", file.display()))
}
