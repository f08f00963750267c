//! Policies in etcd: one transaction a save, which compares the newest revision.
//!
//! A text is a key of its own, so that the watch and the history carry none. A save
//! names itself by a mark: the answer to one that has passed may be lost, and the
//! second try must not be taken for a rival.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use futures::{FutureExt, TryFutureExt};

use super::api::event::EventType;
use super::api::{Event, KeyValue, RequestOp};
use super::batch::{delete, put};
use super::client::Client;
use super::keys::{Folder, Keys};
use super::load::damaged;
use super::txn::{get, got, only, read, read_all, txn, unchanged};
use super::watch::{News, Watch};
use super::{EtcdError, EtcdStore};
use crate::policies::KEPT_REVISIONS;
use crate::{Answer, Error, NewestPolicies, Policies, PolicyHead, PolicyRecord, json};

impl Policies for EtcdStore {
    fn newest_policies(&self) -> Answer<'_, NewestPolicies> {
        async move {
            let range = self.keys.folder(Folder::PolicyNewest);
            let (found, _) = read_all(&self.client, range, 0).await?;
            Ok(all(&self.keys, &found))
        }
        .boxed()
    }

    fn policy(&self, service: &str, revision: Option<u64>) -> Answer<'_, Option<PolicyRecord>> {
        let service: Arc<str> = service.into();
        async move { Ok(record(&self.client, &self.keys, &service, revision).await?) }.boxed()
    }

    fn policy_history(&self, service: &str) -> Answer<'_, Vec<PolicyHead>> {
        let service: Arc<str> = service.into();
        async move {
            let range = self.keys.all_within(Folder::PolicyHeads, &service);
            let (found, _) = read_all(&self.client, range, 0).await?;
            let heads = found.iter().rev().map(|kv| head(&service, kv));
            Ok(heads.collect::<Result<_, EtcdError>>()?)
        }
        .boxed()
    }

    fn save_policy(&self, after: u64, record: PolicyRecord) -> Answer<'_, ()> {
        let (client, keys) = (self.client.clone(), self.keys.clone());
        spawned(async move { save(&client, &keys, after, &record).await })
    }

    fn forget_policy(&self, service: &str) -> Answer<'_, ()> {
        let (client, keys, service) = (self.client.clone(), self.keys.clone(), service.to_owned());
        spawned(async move {
            let gone = vec![
                delete(keys.of(Folder::PolicyNewest, &service)..Vec::new()),
                delete(keys.all_within(Folder::PolicyHeads, &service)),
                delete(keys.all_within(Folder::PolicyTexts, &service)),
            ];
            client.txn(txn(Vec::new(), gone, Vec::new())).await?;
            Ok(())
        })
    }

    fn watch_policies(&self) -> BoxStream<'static, NewestPolicies> {
        let watch = Watch::new(self.client.clone(), vec![self.keys.folder(Folder::PolicyNewest)]);
        let newest = NewestPolicies::new(BTreeMap::new());
        let steps = stream::unfold(
            (watch, self.keys.clone(), newest),
            |(mut watch, keys, newest)| async move {
                let newest = next(&keys, &newest, watch.news().await);
                Some((Arc::clone(&newest), (watch, keys, newest)))
            },
        );
        steps.boxed()
    }
}

/// Whoever asked may go: that takes nothing back.
fn spawned(
    change: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Answer<'static, ()> {
    let closed = |_| Error::from(EtcdError::Closed);
    tokio::spawn(change).map_err(closed).map(Result::flatten).boxed()
}

async fn save(
    client: &Client,
    keys: &Keys,
    after: u64,
    record: &PolicyRecord,
) -> Result<(), Error> {
    let service = &record.head.service;
    let newest_key = keys.of(Folder::PolicyNewest, service);
    let found = read(client, newest_key.clone()).await?;
    let newest = found.as_ref().map(|kv| head(service, kv)).transpose()?;
    record.check(after, newest.as_ref())?;
    let told = marked(&record.head)?;
    let guard = unchanged(newest_key.clone(), found.map_or(0, |kv| kv.mod_revision));
    let otherwise = vec![get(newest_key), get(key(keys, Folder::PolicyHeads, &record.head))];
    let saved = saved(keys, record, told.clone());
    let answer = client.txn(txn(vec![guard], saved, otherwise)).await?;
    let is_ours = got(&answer, 1).is_some_and(|kv| kv.value == told);
    if answer.succeeded || is_ours {
        return Ok(());
    }
    let present = got(&answer, 0).map(|kv| head(service, kv)).transpose()?;
    let present = present.map_or(0, |head| head.revision);
    Err(Error::PolicyChanged { service: Arc::clone(service), after, present })
}

fn saved(keys: &Keys, record: &PolicyRecord, told: Vec<u8>) -> Vec<RequestOp> {
    let head = &record.head;
    let mut operations = vec![
        put(keys.of(Folder::PolicyNewest, &head.service), told.clone()),
        put(key(keys, Folder::PolicyHeads, head), told),
        put(key(keys, Folder::PolicyTexts, head), record.text.as_bytes().to_vec()),
    ];
    if let Some(last_forgotten) = head.revision.checked_sub(KEPT_REVISIONS as u64) {
        let older = |folder| {
            let all = keys.all_within(folder, &head.service);
            delete(all.start..numbered(keys, folder, &head.service, last_forgotten + 1))
        };
        operations.extend([Folder::PolicyHeads, Folder::PolicyTexts].map(older));
    }
    operations
}

/// What tells this save from every other.
fn marked(head: &PolicyHead) -> Result<Vec<u8>, EtcdError> {
    let unwritable = |error: serde_json::Error| EtcdError::Damaged {
        key: head.service.to_string(),
        detail: error.to_string(),
    };
    let told = json::from_policy_head(head).map_err(unwritable)?;
    let mut told: serde_json::Map<_, _> = serde_json::from_slice(&told).map_err(unwritable)?;
    told.insert("save".to_owned(), format!("{:032x}", rand::random::<u128>()).into());
    serde_json::to_vec(&told).map_err(unwritable)
}

// === reading ===

async fn record(
    client: &Client,
    keys: &Keys,
    service: &Arc<str>,
    revision: Option<u64>,
) -> Result<Option<PolicyRecord>, EtcdError> {
    let (revision, at) = match revision {
        Some(revision) => (revision, 0),
        None => {
            let newest = only(keys.of(Folder::PolicyNewest, service));
            let (found, at) = read_all(client, newest, 0).await?;
            let Some(kv) = found.first() else { return Ok(None) };
            (head(service, kv)?.revision, at)
        }
    };
    let wanted = |folder| only(numbered(keys, folder, service, revision));
    let (heads, at) = read_all(client, wanted(Folder::PolicyHeads), at).await?;
    let (texts, _) = read_all(client, wanted(Folder::PolicyTexts), at).await?;
    let (Some(found), Some(text)) = (heads.first(), texts.first()) else { return Ok(None) };
    let head = head(service, found)?;
    let text = str::from_utf8(&text.value).map_err(|_| damaged(text, "it is not text"))?;
    Ok(Some(PolicyRecord { head, text: text.into() }))
}

/// One that cannot be read does not keep the others from being told.
fn all(keys: &Keys, found: &[KeyValue]) -> NewestPolicies {
    Arc::new(found.iter().filter_map(|kv| newest(keys, kv)).collect())
}

fn newest(keys: &Keys, kv: &KeyValue) -> Option<(Arc<str>, PolicyHead)> {
    let read = || {
        let service: Arc<str> = keys.name_of(Folder::PolicyNewest, &kv.key)?.into();
        let head = head(&service, kv)?;
        Ok::<_, EtcdError>((service, head))
    };
    read().inspect_err(|error| tracing::error!(%error, "a policy is left out")).ok()
}

fn next(keys: &Keys, before: &NewestPolicies, news: News) -> NewestPolicies {
    match news {
        News::Everything { ranges, .. } => all(keys, ranges.first().map_or(&[][..], Vec::as_slice)),
        News::Changes { events, .. } => {
            let mut newest = BTreeMap::clone(before);
            events.into_iter().for_each(|event| apply(keys, &mut newest, event));
            Arc::new(newest)
        }
    }
}

fn apply(keys: &Keys, all: &mut BTreeMap<Arc<str>, PolicyHead>, event: Event) {
    let is_there = event.r#type == i32::from(EventType::Put);
    let kv = event.kv.unwrap_or_default();
    if is_there {
        all.extend(newest(keys, &kv));
    } else if let Ok(service) = keys.name_of(Folder::PolicyNewest, &kv.key) {
        all.remove(&*service);
    }
}

fn head(service: &Arc<str>, kv: &KeyValue) -> Result<PolicyHead, EtcdError> {
    json::to_policy_head(service, &kv.value).map_err(|error| damaged(kv, error))
}

fn key(keys: &Keys, folder: Folder, head: &PolicyHead) -> Vec<u8> {
    numbered(keys, folder, &head.service, head.revision)
}

/// In order of key they are in order of revision.
fn numbered(keys: &Keys, folder: Folder, service: &str, revision: u64) -> Vec<u8> {
    keys.within(folder, service, &format!("{revision:020}"))
}
