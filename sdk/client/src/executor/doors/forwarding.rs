//! Where shards went that were here: for callers who have not heard of it yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

use crate::NextOwner;

/// By then every map has it, and the shard may have moved on.
const LASTS: Duration = Duration::from_secs(60);
/// From this many on, what has passed is swept; what is too much is not kept.
const MANY: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Forwarding {
    went: HashMap<Arc<str>, (NextOwner, Time)>,
}

impl Forwarding {
    pub(super) fn remember(&mut self, now: Time, shard: Arc<str>, next: NextOwner) {
        if self.went.len() >= MANY {
            self.went.retain(|_, (_, until)| now < *until);
        }
        if self.went.len() < MANY {
            self.went.insert(shard, (next, now + LASTS));
        }
    }

    /// The shard is here.
    pub(super) fn forget(&mut self, shard: &str) {
        self.went.remove(shard);
    }

    pub(super) fn find(&self, now: Time, shard: &str) -> Option<NextOwner> {
        let (next, until) = self.went.get(shard)?;
        (now < *until).then(|| next.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_shard_went_is_known_for_a_minute_or_until_it_comes_back() {
        let mut forwarding = Forwarding::default();
        let next = NextOwner { executor_id: "b".into(), address: None };
        forwarding.remember(Time::ZERO, "7".into(), next.clone());
        assert_eq!(forwarding.find(Time::from_millis(59_999), "7"), Some(next.clone()));
        assert_eq!(forwarding.find(Time::from_millis(60_000), "7"), None);
        forwarding.remember(Time::ZERO, "7".into(), next);
        forwarding.forget("7");
        assert_eq!(forwarding.find(Time::ZERO, "7"), None);
    }
}
