//! Policies in the file: what a change does to their tables, and reading them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{FutureExt, TryFutureExt};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, Table, WriteTransaction};

use super::FileStore;
use super::encoding::{policy_head_from_json, policy_head_to_json, text};
use super::schema::{POLICIES, POLICY_HEADS, POLICY_TEXTS};
use super::tables::Verdict;
use super::writer::Change;
use crate::policies::KEPT_REVISIONS;
use crate::{Answer, Epoch, NewestPolicies, Policies, PolicyHead, PolicyRecord};

type Revision = (&'static [u8], u64);

// === changing ===

pub(super) struct PolicyTables<'txn> {
    newest: Table<'txn, &'static [u8], u64>,
    heads: Table<'txn, Revision, &'static [u8]>,
    texts: Table<'txn, Revision, &'static [u8]>,
}

impl<'txn> PolicyTables<'txn> {
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            newest: transaction.open_table(POLICIES)?,
            heads: transaction.open_table(POLICY_HEADS)?,
            texts: transaction.open_table(POLICY_TEXTS)?,
        })
    }

    pub(super) fn save(
        &mut self,
        after: u64,
        record: &PolicyRecord,
    ) -> Result<Verdict, redb::Error> {
        let head = &record.head;
        if let Err(refusal) = record.check(after, self.newest(&head.service)?.as_ref()) {
            return Ok(Err(refusal));
        }
        let (service, key) = (head.service.as_bytes(), key(head));
        self.newest.insert(service, head.revision)?;
        self.heads.insert(key, policy_head_to_json(head)?.as_slice())?;
        self.texts.insert(key, record.text.as_bytes())?;
        self.forget_oldest(service)?;
        Ok(Ok(Epoch::default()))
    }

    pub(super) fn forget(&mut self, service: &str) -> Result<Verdict, redb::Error> {
        self.newest.remove(service.as_bytes())?;
        self.heads.retain_in(all_of(service.as_bytes()), |_, _| false)?;
        self.texts.retain_in(all_of(service.as_bytes()), |_, _| false)?;
        Ok(Ok(Epoch::default()))
    }

    fn newest(&self, service: &Arc<str>) -> Result<Option<PolicyHead>, redb::Error> {
        let Some(revision) = self.newest.get(service.as_bytes())?.map(|it| it.value()) else {
            return Ok(None);
        };
        let json = self.heads.get((service.as_bytes(), revision))?;
        json.map(|json| policy_head_from_json(service, json.value())).transpose()
    }

    fn forget_oldest(&mut self, service: &[u8]) -> Result<(), redb::Error> {
        let oldest_kept = {
            let mut kept = self.heads.range(all_of(service))?;
            match kept.nth_back(KEPT_REVISIONS - 1).transpose()? {
                Some((key, _)) => key.value().1,
                None => return Ok(()),
            }
        };
        let older = (service, 0)..(service, oldest_kept);
        self.heads.retain_in(older.clone(), |_, _| false)?;
        self.texts.retain_in(older, |_, _| false)?;
        Ok(())
    }
}

fn key(head: &PolicyHead) -> (&[u8], u64) {
    (head.service.as_bytes(), head.revision)
}

fn all_of(service: &[u8]) -> RangeInclusive<(&[u8], u64)> {
    (service, 0)..=(service, u64::MAX)
}

// === reading ===

/// The newest revision of every service.
pub(super) fn newest(database: &Database) -> Result<NewestPolicies, redb::Error> {
    let snapshot = database.begin_read()?;
    let heads = snapshot.open_table(POLICY_HEADS)?;
    let mut newest = BTreeMap::new();
    for entry in snapshot.open_table(POLICIES)?.iter()? {
        let (service, revision) = entry?;
        let key = (service.value(), revision.value());
        let missing = || redb::Error::Corrupted("a policy has no newest revision".into());
        let json = heads.get(key)?.ok_or_else(missing)?;
        let service = text(service.value())?;
        newest.insert(Arc::clone(&service), policy_head_from_json(&service, json.value())?);
    }
    Ok(Arc::new(newest))
}

fn record(
    database: &Database,
    service: &Arc<str>,
    revision: Option<u64>,
) -> Result<Option<PolicyRecord>, redb::Error> {
    let snapshot = database.begin_read()?;
    let revision = match revision {
        Some(revision) => Some(revision),
        None => newest_of(&snapshot, service)?,
    };
    let Some(revision) = revision else { return Ok(None) };
    let key = (service.as_bytes(), revision);
    let head = snapshot.open_table(POLICY_HEADS)?.get(key)?;
    let Some(head) = head else { return Ok(None) };
    let missing = || redb::Error::Corrupted("a policy has no text".into());
    let stored = snapshot.open_table(POLICY_TEXTS)?.get(key)?.ok_or_else(missing)?;
    let head = policy_head_from_json(service, head.value())?;
    Ok(Some(PolicyRecord { head, text: text(stored.value())? }))
}

fn newest_of(snapshot: &ReadTransaction, service: &str) -> Result<Option<u64>, redb::Error> {
    let newest = snapshot.open_table(POLICIES)?.get(service.as_bytes())?;
    Ok(newest.map(|revision| revision.value()))
}

fn history(database: &Database, service: &Arc<str>) -> Result<Vec<PolicyHead>, redb::Error> {
    let heads = database.begin_read()?.open_table(POLICY_HEADS)?;
    let all = heads.range(all_of(service.as_bytes()))?.rev();
    all.map(|entry| policy_head_from_json(service, entry?.1.value())).collect()
}

impl Policies for FileStore {
    fn newest_policies(&self) -> Answer<'_, NewestPolicies> {
        self.read(newest)
    }

    fn policy(&self, service: &str, revision: Option<u64>) -> Answer<'_, Option<PolicyRecord>> {
        let service: Arc<str> = service.into();
        self.read(move |database| record(database, &service, revision))
    }

    fn policy_history(&self, service: &str) -> Answer<'_, Vec<PolicyHead>> {
        let service: Arc<str> = service.into();
        self.read(move |database| history(database, &service))
    }

    fn save_policy(&self, after: u64, record: PolicyRecord) -> Answer<'_, ()> {
        self.change(Change::SavePolicy { after, record }).map_ok(drop).boxed()
    }

    fn forget_policy(&self, service: &str) -> Answer<'_, ()> {
        self.change(Change::ForgetPolicy { service: service.into() }).map_ok(drop).boxed()
    }

    fn watch_policies(&self) -> BoxStream<'static, NewestPolicies> {
        self.watch.stream()
    }
}
