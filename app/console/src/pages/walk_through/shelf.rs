//! Snapshots to walk through, and what planners did with them: those that come with the
//! console, and the last few that were uploaded or taken.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use plimsoll_placement::policy::Mode;
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate};
use tokio::sync::Semaphore;
use xxhash_rust::xxh3::xxh3_64;

use crate::problem::Problem;
use crate::walk::Walk;

use super::SEED;

/// Snapshots that are kept; the one put first goes first.
const SNAPSHOTS: usize = 16;
const WALKS: usize = 32;
/// A planner looks at all of them in every cycle.
const MOST_SHARDS: usize = 20_000;

/// What comes with the console: its name in addresses, and what people read.
pub(super) const SHIPPED: [(&str, &str); 6] = [
    (SEED, "six hosts from a hash ring, two too hot"),
    ("zipf-0.8", "1,024 shards on 20 hosts, Zipf 0.8"),
    ("lognormal-1", "2,000 shards on 24 hosts, log-normal"),
    ("few-coarse", "256 coarse shards on 40 hosts"),
    ("one-key-half", "one shard with half of all load, 16 hosts"),
    ("mostly-idle", "5,000 shards on 50 hosts, most of them idle"),
];

/// All that is kept.
#[derive(Debug)]
pub(crate) struct Shelf {
    snapshots: Mutex<VecDeque<Kept>>,
    walks: Mutex<VecDeque<(String, Mode, Arc<Walk>)>>,
    /// One is computed at a time: it takes a core for a moment.
    turn: Semaphore,
}

#[derive(Clone, Debug)]
struct Kept {
    source: String,
    title: String,
    snapshot: Arc<Snapshot>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { snapshots: Mutex::default(), walks: Mutex::default(), turn: Semaphore::new(1) }
    }
}

impl Shelf {
    /// Keeps a snapshot. Returns its name in addresses.
    ///
    /// # Errors
    /// It has too many shards, or none.
    pub(super) fn put(&self, title: String, snapshot: Snapshot) -> Result<String, Problem> {
        let count = snapshot.shards.len();
        if count == 0 || snapshot.hosts.is_empty() {
            return Err(Problem::Invalid("there is no shard in it".to_owned()));
        }
        if count > MOST_SHARDS {
            return Err(Problem::Invalid(format!(
                "it has {count} shards: at most {MOST_SHARDS} can be walked through"
            )));
        }
        let source = format!("s{:016x}", xxh3_64(format!("{title}\n{snapshot}").as_bytes()));
        let mut kept = self.snapshots.lock();
        kept.retain(|it| it.source != source);
        if kept.len() == SNAPSHOTS {
            kept.pop_front();
        }
        kept.push_back(Kept { source: source.clone(), title, snapshot: Arc::new(snapshot) });
        Ok(source)
    }

    /// A snapshot and what people call it.
    ///
    /// # Errors
    /// It is kept no more.
    pub(super) fn snapshot(&self, source: &str) -> Result<(String, Arc<Snapshot>), Problem> {
        if let Some(kept) = self.snapshots.lock().iter().find(|it| it.source == source) {
            return Ok((kept.title.clone(), kept.snapshot.clone()));
        }
        let gone = || {
            Problem::Missing(
                "that snapshot is kept no more: upload it again, or take another of the namespace"
                    .to_owned(),
            )
        };
        let (name, title) = SHIPPED.iter().find(|(name, _)| *name == source).ok_or_else(gone)?;
        Ok(((*title).to_owned(), Arc::new(shipped(name)?)))
    }

    /// What a planner does with it.
    ///
    /// # Errors
    /// The planner failed, which is a defect.
    pub(super) async fn walk(
        &self,
        source: &str,
        snapshot: &Arc<Snapshot>,
        mode: Mode,
    ) -> Result<Arc<Walk>, Problem> {
        if let Some(walk) = self.find(source, mode) {
            return Ok(walk);
        }
        let _turn = self.turn.acquire().await;
        if let Some(walk) = self.find(source, mode) {
            return Ok(walk);
        }
        let snapshot = snapshot.clone();
        let walked = tokio::task::spawn_blocking(move || Walk::of(&snapshot, mode)).await;
        let broken = |error: tokio::task::JoinError| Problem::Broken(error.to_string());
        let walk = Arc::new(walked.map_err(broken)?);
        let mut walks = self.walks.lock();
        if walks.len() == WALKS {
            walks.pop_front();
        }
        walks.push_back((source.to_owned(), mode, walk.clone()));
        Ok(walk)
    }

    fn find(&self, source: &str, mode: Mode) -> Option<Arc<Walk>> {
        let walks = self.walks.lock();
        let found = walks.iter().find(|(name, its, _)| name == source && *its == mode);
        found.map(|(.., walk)| walk.clone())
    }
}

fn shipped(name: &str) -> Result<Snapshot, Problem> {
    let broken = |error: String| Problem::Broken(error);
    match name {
        SEED => Snapshot::parse(include_str!("../../../assets/six-hosts.csv"))
            .map_err(|error| broken(error.to_string())),
        name => generate(name, 1, Size::default()).map_err(|error| broken(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_placement::snapshot::Shard;

    use super::*;

    fn snapshot(load: f64) -> Snapshot {
        let shard = Shard { key: "a".into(), load, host: "h".into() };
        Snapshot { shards: vec![shard], hosts: vec!["h".into()] }
    }

    #[test]
    fn everything_shipped_is_there() {
        for (name, title) in SHIPPED {
            let (told, snapshot) = Shelf::default().snapshot(name).unwrap();
            assert_eq!(told, title);
            assert!(!snapshot.shards.is_empty());
        }
    }

    #[test]
    fn the_snapshot_put_first_goes_first() {
        let shelf = Shelf::default();
        let put = |number: usize| shelf.put(format!("{number}"), snapshot(1.0)).unwrap();
        let first = put(0);
        (1..=SNAPSHOTS).for_each(|number| drop(put(number)));
        let Err(Problem::Missing(text)) = shelf.snapshot(&first) else { panic!("it is kept") };
        assert!(text.contains("upload it again"));
        assert_eq!(shelf.snapshots.lock().len(), SNAPSHOTS);
    }

    #[test]
    fn the_same_snapshot_has_the_same_name() {
        let shelf = Shelf::default();
        let names = [shelf.put("a".into(), snapshot(1.0)), shelf.put("a".into(), snapshot(1.0))];
        assert_eq!(names[0], names[1]);
        assert_eq!(shelf.snapshots.lock().len(), 1);
        assert!(shelf.put("a".into(), Snapshot::default()).is_err());
    }

    #[tokio::test]
    async fn a_walk_is_computed_once() {
        let shelf = Shelf::default();
        let (_, snapshot) = shelf.snapshot(SEED).unwrap();
        let first = shelf.walk(SEED, &snapshot, Mode::Greedy).await.unwrap();
        let again = shelf.walk(SEED, &snapshot, Mode::Greedy).await.unwrap();
        assert!(Arc::ptr_eq(&first, &again));
    }
}
