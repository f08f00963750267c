//! Watches every executor at once and counts what must never happen: two that
//! run one shard at one instant.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Who runs what, by the executors' own account.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    running: HashMap<String, usize>,
    doubles: u64,
}

impl Oracle {
    /// An executor begins to run a shard.
    pub(super) fn started(&self, shard: &str) {
        let seen = &mut *self.seen.lock();
        let instances = seen.running.entry(shard.to_owned()).or_default();
        *instances += 1;
        if *instances > 1 {
            seen.doubles += 1;
        }
    }

    /// An executor has ended a shard.
    pub(super) fn stopped(&self, shard: &str) {
        if let Some(instances) = self.seen.lock().running.get_mut(shard) {
            *instances = instances.saturating_sub(1);
        }
    }

    /// How often a shard began to run while it ran already.
    pub(super) fn doubles(&self) -> u64 {
        self.seen.lock().doubles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_seen_and_a_later_one_is_fine() {
        let oracle = Oracle::default();
        oracle.started("1");
        oracle.stopped("1");
        oracle.started("1");
        assert_eq!(oracle.doubles(), 0);
        oracle.started("1");
        assert_eq!(oracle.doubles(), 1);
    }
}
