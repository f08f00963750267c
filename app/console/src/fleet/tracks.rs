//! The load of the shards that somebody looks at, for as long as they are looked at.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

/// Shards that are followed at a time.
const SHARDS: usize = 64;
/// Points of each.
const KEPT: usize = 600;
/// Points are at least so far apart, in milliseconds.
const APART_MS: u64 = 1500;

/// Points of time in milliseconds since 1970, with loads.
pub(crate) type Track = Vec<(u64, f64)>;

/// The shards that are followed, by namespace and key.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    all: Mutex<Followed>,
}

type Followed = BTreeMap<(String, String), VecDeque<(u64, f64)>>;

impl Tracks {
    /// Adds what is known now, if anything; returns all that was seen.
    pub(crate) fn add(&self, namespace: &str, key: &str, now_ms: u64, load: Option<f64>) -> Track {
        let mut all = self.all.lock();
        let name = (namespace.to_owned(), key.to_owned());
        if !all.contains_key(&name) && all.len() >= SHARDS {
            forget_the_oldest(&mut all);
        }
        let track = all.entry(name).or_default();
        let is_due = track.back().is_none_or(|(last, _)| now_ms >= last.saturating_add(APART_MS));
        if let Some(load) = load.filter(|_| is_due) {
            track.push_back((now_ms, load));
        }
        if track.len() > KEPT {
            track.pop_front();
        }
        track.iter().copied().collect()
    }
}

fn forget_the_oldest(all: &mut Followed) {
    let last = |track: &VecDeque<(u64, f64)>| track.back().map_or(0, |(at, _)| *at);
    let oldest = all.iter().min_by_key(|(_, track)| last(track)).map(|(name, _)| name.clone());
    if let Some(oldest) = oldest {
        all.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_that_was_looked_at_longest_ago_is_forgotten() {
        let tracks = Tracks::default();
        for shard in 0..SHARDS as u64 {
            tracks.add("a", &shard.to_string(), 10_000 + shard, Some(1.0));
        }
        tracks.add("a", "new", 20_000, Some(1.0));
        assert_eq!(tracks.all.lock().len(), SHARDS);
        assert_eq!(tracks.add("a", "0", 30_000, Some(2.0)), [(30_000, 2.0)]);
        assert_eq!(tracks.add("a", "63", 30_000, Some(2.0)).len(), 2);
    }

    #[test]
    fn an_unmeasured_shard_has_no_points() {
        assert_eq!(Tracks::default().add("a", "x", 0, None), []);
    }
}
