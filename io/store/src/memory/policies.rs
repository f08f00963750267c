//! Policies in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures::stream::BoxStream;
use parking_lot::Mutex;

use super::{MemoryStore, ready};
use crate::local_watch::LocalWatch;
use crate::policies::KEPT_REVISIONS;
use crate::{Answer, Error, NewestPolicies, Policies, PolicyHead, PolicyRecord};

/// Every revision that is kept of every service, the oldest first; never none.
type Revisions = BTreeMap<Arc<str>, VecDeque<PolicyRecord>>;

/// All policies.
#[derive(Debug, Default)]
pub(super) struct PolicyBook {
    revisions: Mutex<Revisions>,
    watch: LocalWatch,
}

impl PolicyBook {
    /// Tells while nobody else changes anything: what is told last is what holds.
    fn change(
        &self,
        change: impl FnOnce(&mut Revisions) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut revisions = self.revisions.lock();
        change(&mut revisions)?;
        self.watch.tell(newest(&revisions));
        Ok(())
    }
}

impl Policies for MemoryStore {
    fn newest_policies(&self) -> Answer<'_, NewestPolicies> {
        ready(Ok(newest(&self.policies.revisions.lock())))
    }

    fn policy(&self, service: &str, revision: Option<u64>) -> Answer<'_, Option<PolicyRecord>> {
        let revisions = self.policies.revisions.lock();
        let wanted = |it: &&PolicyRecord| revision.is_none_or(|wanted| it.head.revision == wanted);
        let found = revisions.get(service).and_then(|all| all.iter().rev().find(wanted).cloned());
        ready(Ok(found))
    }

    fn policy_history(&self, service: &str) -> Answer<'_, Vec<PolicyHead>> {
        let revisions = self.policies.revisions.lock();
        let all = revisions.get(service).into_iter().flatten().rev();
        ready(Ok(all.map(|record| record.head.clone()).collect()))
    }

    fn save_policy(&self, after: u64, record: PolicyRecord) -> Answer<'_, ()> {
        ready(self.policies.change(|revisions| {
            let newest = revisions.get(&record.head.service).and_then(VecDeque::back);
            record.check(after, newest.map(|it| &it.head))?;
            let all = revisions.entry(Arc::clone(&record.head.service)).or_default();
            all.push_back(record);
            if all.len() > KEPT_REVISIONS {
                all.pop_front();
            }
            Ok(())
        }))
    }

    fn forget_policy(&self, service: &str) -> Answer<'_, ()> {
        ready(self.policies.change(|revisions| {
            revisions.remove(service);
            Ok(())
        }))
    }

    fn watch_policies(&self) -> BoxStream<'static, NewestPolicies> {
        self.policies.watch.stream()
    }
}

fn newest(revisions: &Revisions) -> NewestPolicies {
    let of = |(service, all): (&Arc<str>, &VecDeque<PolicyRecord>)| {
        Some((Arc::clone(service), all.back()?.head.clone()))
    };
    Arc::new(revisions.iter().filter_map(of).collect())
}
