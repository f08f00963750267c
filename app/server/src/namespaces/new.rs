//! A namespace that is to be made, checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_ownership::record::{GrantRecord, Kind, NamespaceRecord, Stored, Write};
use plimsoll_ownership::settings::Settings;

use super::{Error, MAX_EXECUTOR_ID, MAX_NAME, MAX_SHARDS};

/// A namespace to be made.
#[derive(Clone, Debug, Default)]
pub struct NewNamespace {
    pub name: String,
    /// `fixed` or `ephemeral`.
    pub kind: String,
    pub shards: u64,
    pub settings: Vec<(String, String)>,
    /// Owners to begin with: shard key and executor id.
    pub grants: Vec<(String, String)>,
    pub frozen: bool,
}

impl From<&crate::config::Namespace> for NewNamespace {
    fn from(namespace: &crate::config::Namespace) -> Self {
        Self {
            name: namespace.name.clone(),
            kind: namespace.kind.clone(),
            shards: namespace.shards,
            settings: namespace.flat_settings(),
            grants: Vec::new(),
            frozen: false,
        }
    }
}

impl NewNamespace {
    pub(super) fn record(&self) -> Result<NamespaceRecord, Error> {
        let entries = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings = Settings::from_entries(entries)?;
        let text = |(name, value): (&str, String)| (name.to_owned(), value);
        Ok(NamespaceRecord {
            name: self.checked_name()?,
            kind: self.checked_kind()?,
            settings: settings.changed_entries().into_iter().map(text).collect(),
            frozen: self.frozen,
        })
    }

    fn checked_name(&self) -> Result<Arc<str>, Error> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = self.name.len() <= MAX_NAME && self.name.contains(|c: char| c != '.');
        if fits && self.name.chars().all(allowed) {
            return Ok(Arc::from(self.name.as_str()));
        }
        Err(Error::Name(self.name.clone()))
    }

    fn checked_kind(&self) -> Result<Kind, Error> {
        match (self.kind.as_str(), self.shards) {
            ("fixed", n) if (1..=MAX_SHARDS).contains(&n) => {
                u32::try_from(n).map(|shards| Kind::Fixed { shards }).map_err(|_| Error::Shards(n))
            }
            ("fixed", n) => Err(Error::Shards(n)),
            ("ephemeral", 0) => Ok(Kind::Ephemeral),
            ("ephemeral", _) => Err(Error::ShardsOfEphemeral),
            (other, _) => Err(Error::Type(other.to_owned())),
        }
    }

    /// The first owners, as writes and as what the store then holds.
    pub(super) fn first_records(
        &self,
        kind: Kind,
        generation: u64,
    ) -> Result<(Vec<Write>, Stored), Error> {
        let mut grants = BTreeMap::new();
        for (shard, executor) in &self.grants {
            if !is_shard(kind, shard) || !is_executor_id(executor) {
                return Err(Error::Grant(shard.clone()));
            }
            let grant = GrantRecord { executor: Arc::from(executor.as_str()), generation };
            grants.insert(Arc::from(shard.as_str()), grant);
        }
        let grants: Vec<(Arc<str>, GrantRecord)> = grants.into_iter().collect();
        let write = |(shard, grant): &(Arc<str>, GrantRecord)| Write::Grant {
            shard: shard.clone(),
            grant: grant.clone(),
        };
        let mut writes: Vec<_> = grants.iter().map(write).collect();
        writes.push(Write::GenerationFloor(generation));
        Ok((writes, Stored { grants, generation_floor: generation, ..Stored::default() }))
    }
}

fn is_shard(kind: Kind, key: &str) -> bool {
    match kind {
        Kind::Ephemeral => key.len() <= plimsoll_ownership::namespace::MAX_KEY_BYTES,
        Kind::Fixed { shards } => {
            key.parse().is_ok_and(|n: u32| n < shards && n.to_string() == key)
        }
    }
}

/// As a hello or a heartbeat would have to give it.
fn is_executor_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_EXECUTOR_ID && !id.contains('/')
}
