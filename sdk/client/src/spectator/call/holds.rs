//! Who is held for which shard, in order of arrival, and never more than a limit.
//!
//! Of those held for one shard the first is the scout: it alone tries whether the
//! shard can be reached again, so that a crowd costs its owner no more than one
//! request does. The others wait for its word or for news of the map. It knows no
//! task, no clock and no request: tickets are numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One who is held.
pub(super) type Ticket = u64;

/// What one who is held is to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// Try again, after pauses.
    Scout,
    /// Wait for a word.
    Waiter,
}

/// As many are held as may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Full;

#[derive(Debug)]
pub(super) struct Holds {
    limit: usize,
    held: usize,
    issued: Ticket,
    /// Never an empty set.
    shards: BTreeMap<Arc<str>, BTreeSet<Ticket>>,
}

impl Holds {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, held: 0, issued: 0, shards: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.held
    }

    pub(super) fn has(&self, shard: &str) -> bool {
        self.shards.contains_key(shard)
    }

    /// The first for a shard becomes its scout.
    pub(super) fn hold(&mut self, shard: &Arc<str>) -> Result<(Ticket, Role), Full> {
        if self.held >= self.limit {
            return Err(Full);
        }
        self.held += 1;
        self.issued += 1;
        let queue = self.shards.entry(Arc::clone(shard)).or_default();
        let role = if queue.is_empty() { Role::Scout } else { Role::Waiter };
        queue.insert(self.issued);
        Ok((self.issued, role))
    }

    /// Lets all go who are held for the shard, first come first.
    pub(super) fn open(&mut self, shard: &str) -> BTreeSet<Ticket> {
        let gone = self.shards.remove(shard).unwrap_or_default();
        self.held -= gone.len();
        gone
    }

    /// Lets everybody go.
    pub(super) fn open_all(&mut self) -> BTreeSet<Ticket> {
        self.held = 0;
        std::mem::take(&mut self.shards).into_values().flatten().collect()
    }

    /// One goes by itself; who is the scout instead, if that was it.
    pub(super) fn leave(&mut self, shard: &str, ticket: Ticket) -> Option<Ticket> {
        let queue = self.shards.get_mut(shard)?;
        let was_scout = queue.first() == Some(&ticket);
        if !queue.remove(&ticket) {
            return None;
        }
        self.held -= 1;
        let next = queue.first().copied();
        if next.is_none() {
            self.shards.remove(shard);
        }
        next.filter(|_| was_scout)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Deed {
        Hold(u8),
        Open(u8),
        OpenAll,
        /// One of those held, by position.
        Leave(usize),
    }

    fn deeds() -> impl Strategy<Value = Vec<Deed>> {
        let deed = prop_oneof![
            6 => (0..3_u8).prop_map(Deed::Hold),
            2 => (0..3_u8).prop_map(Deed::Open),
            1 => Just(Deed::OpenAll),
            4 => (0..100_usize).prop_map(Deed::Leave),
        ];
        proptest::collection::vec(deed, 0..60)
    }

    /// Everybody who is held, with what it was last told.
    #[derive(Default)]
    struct Crowd(BTreeMap<Ticket, (Arc<str>, Role)>);

    impl Crowd {
        fn of(&self, shard: &str) -> Vec<(Ticket, Role)> {
            let here = self.0.iter().filter(|(_, (at, _))| &**at == shard);
            here.map(|(ticket, (_, role))| (*ticket, *role)).collect()
        }

        fn carry_out(&mut self, holds: &mut Holds, deed: &Deed) {
            match deed {
                Deed::Hold(shard) => {
                    let shard: Arc<str> = shard.to_string().into();
                    match holds.hold(&shard) {
                        Ok((ticket, role)) => drop(self.0.insert(ticket, (shard, role))),
                        Err(Full) => assert_eq!(self.0.len(), LIMIT),
                    }
                }
                Deed::Open(shard) => {
                    let shard = shard.to_string();
                    let gone: Vec<_> = holds.open(&shard).into_iter().collect();
                    let expected: Vec<_> = self.of(&shard).into_iter().map(|one| one.0).collect();
                    assert_eq!(gone, expected);
                    self.0.retain(|ticket, _| !gone.contains(ticket));
                }
                Deed::OpenAll => {
                    assert!(holds.open_all().into_iter().eq(self.0.keys().copied()));
                    self.0.clear();
                }
                Deed::Leave(position) => {
                    let Some(ticket) = self.0.keys().nth(*position).copied() else { return };
                    let (shard, _) = self.0.remove(&ticket).unwrap();
                    if let Some(scout) = holds.leave(&shard, ticket) {
                        self.0.get_mut(&scout).unwrap().1 = Role::Scout;
                    }
                    assert_eq!(holds.leave(&shard, ticket), None, "one leaves once");
                }
            }
        }
    }

    const LIMIT: usize = 8;

    proptest! {
        #[test]
        fn never_too_many_are_held_and_of_each_shard_the_first_alone_is_the_scout(
            deeds in deeds(),
        ) {
            let (mut holds, mut crowd) = (Holds::new(LIMIT), Crowd::default());
            for deed in &deeds {
                crowd.carry_out(&mut holds, deed);
                prop_assert!(holds.len() <= LIMIT);
                prop_assert_eq!(holds.len(), crowd.0.len());
                for shard in ["0", "1", "2"] {
                    let here = crowd.of(shard);
                    prop_assert_eq!(holds.has(shard), !here.is_empty());
                    for (position, (_, role)) in here.iter().enumerate() {
                        prop_assert_eq!(*role == Role::Scout, position == 0);
                    }
                }
            }
        }
    }
}
