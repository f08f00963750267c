//! Reading an export into a store.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::lines::Line;
use super::section::Section;
use super::{TransferError, Transferred, VERSION, version};
use crate::record::{GrantRecord, NamespaceRecord, Stored, Write};
use crate::{Error, PolicyRecord, Store};

/// What to do with a namespace that has records already, or a service that has a policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Present {
    /// End there.
    Refuse,
    /// Put those of the export in their place. Whoever leads it is fenced out and has
    /// to load it again. Generations go on from the higher of the two floors; revisions
    /// of a policy are those of the export.
    Replace,
}

/// Reads an export from `input`: each namespace in one atomic change, when all of it
/// has arrived and is sound. One that is there without any record is filled. A policy
/// is written revision by revision, when all of them have arrived and are sound.
///
/// # Errors
/// See [`TransferError`]: namespaces that came before the trouble are imported then.
pub async fn import(
    store: &dyn Store,
    input: impl AsyncBufRead + Send + Unpin,
    present: Present,
) -> Result<Transferred, TransferError> {
    let mut reader = Reader { input, line: Vec::new(), number: 0, total: Transferred::default() };
    let announced = reader.check_beginning().await?;
    loop {
        match reader.next().await? {
            Line::Namespace { name, kind, settings, frozen, generation_floor } => {
                let record = NamespaceRecord { name: name.into(), kind, settings, frozen };
                let (stored, records) = reader.records(generation_floor).await?;
                write(store, record, stored, present, reader.imported()).await?;
                reader.total.namespaces += 1;
                reader.total.records += records;
            }
            Line::Policy { service } => {
                let revisions = reader.revisions(&service).await?;
                reader.total.revisions += revisions.len() as u64;
                write_policy(store, &service, revisions, present, reader.imported()).await?;
                reader.total.policies += 1;
            }
            Line::EndOfExport { namespaces, policies } => {
                reader.check_counts(announced, namespaces, policies)?;
                return reader.check_end().await;
            }
            _ => return Err(reader.damaged("it belongs to no namespace and no policy")),
        }
    }
}

struct Reader<R> {
    input: R,
    line: Vec<u8>,
    /// Of the line, from 1.
    number: u64,
    total: Transferred,
}

impl<R: AsyncBufRead + Send + Unpin> Reader<R> {
    /// Returns the version.
    async fn check_beginning(&mut self) -> Result<u32, TransferError> {
        match self.next().await {
            Ok(Line::PlimsollExport { version }) if (1..=VERSION).contains(&version) => Ok(version),
            Ok(Line::PlimsollExport { version }) => {
                Err(TransferError::Newer { found: version, known: VERSION })
            }
            Err(TransferError::Io(error)) => Err(error.into()),
            _ => Err(TransferError::NotAnExport),
        }
    }

    fn check_counts(
        &self,
        announced: u32,
        namespaces: u64,
        policies: u64,
    ) -> Result<(), TransferError> {
        let total = &self.total;
        if (namespaces, policies) != (total.namespaces, total.policies) {
            let why =
                format!("{namespaces} namespaces and {policies} policies are said to be in it");
            return Err(self.damaged(why));
        }
        if announced != version(policies) {
            return Err(self.damaged(format!("version {announced} does not hold that")));
        }
        Ok(())
    }

    /// What is in the store by now.
    fn imported(&self) -> u64 {
        self.total.namespaces + self.total.policies
    }

    /// Nothing may follow: two exports in one file are not one.
    async fn check_end(&mut self) -> Result<Transferred, TransferError> {
        if self.read().await? { Err(self.damaged("the export has ended")) } else { Ok(self.total) }
    }

    /// The records of the namespace whose first line is the present one.
    async fn records(&mut self, generation_floor: u64) -> Result<(Stored, u64), TransferError> {
        let mut section = Section::default();
        section.pass(&self.line);
        let mut stored = Stored { generation_floor, ..Stored::default() };
        loop {
            let line = self.next().await?;
            if let Line::EndOfNamespace { records, xxh3 } = line {
                section.check(records, &xxh3).map_err(|why| self.damaged(why))?;
                return Ok((stored, records));
            }
            section.pass(&self.line);
            add(&mut stored, line).map_err(|why| self.damaged(why))?;
        }
    }

    /// The revisions of the policy whose first line is the present one.
    async fn revisions(&mut self, service: &str) -> Result<Vec<PolicyRecord>, TransferError> {
        let mut section = Section::default();
        section.pass(&self.line);
        let mut revisions: Vec<PolicyRecord> = Vec::new();
        loop {
            match self.next().await? {
                Line::Revision { mut head, text } => {
                    section.pass(&self.line);
                    head.service = service.into();
                    revisions.push(PolicyRecord { head, text: text.into() });
                }
                Line::EndOfPolicy { revisions: count, xxh3 } => {
                    section.check(count, &xxh3).map_err(|why| self.damaged(why))?;
                    return Ok(revisions);
                }
                _ => return Err(self.damaged("the policy before it has not ended")),
            }
        }
    }

    async fn next(&mut self) -> Result<Line, TransferError> {
        if !self.read().await? {
            let (line, imported) = (self.number, self.imported());
            return Err(TransferError::CutShort { line, imported });
        }
        serde_json::from_slice(&self.line).map_err(|error| self.damaged(error.to_string()))
    }

    /// Takes the next line, without the newline; `false` at the end.
    async fn read(&mut self) -> Result<bool, TransferError> {
        self.line.clear();
        self.number += 1;
        self.input.read_until(b'\n', &mut self.line).await?;
        // A last line that is not ended has been cut.
        Ok(self.line.pop_if(|last| *last == b'\n').is_some())
    }

    fn damaged(&self, detail: impl Into<String>) -> TransferError {
        let (line, imported) = (self.number, self.imported());
        TransferError::Damaged { line, detail: detail.into(), imported }
    }
}

fn add(stored: &mut Stored, line: Line) -> Result<(), String> {
    match line {
        Line::Grant { shard, executor, generation } => {
            let executor = executor.into();
            stored.grants.push((shard.into(), GrantRecord { executor, generation }));
        }
        Line::DrainedShard { shard, drain } => stored.drained_shards.push((shard.into(), drain)),
        Line::DrainedHost { host, drain } => stored.drained_hosts.push((host.into(), drain)),
        Line::Load { shard, load } => {
            let load = load.parse().map_err(|_| format!("{load:?} is no load"))?;
            stored.loads.push((shard.into(), load));
        }
        _ => return Err("the namespace before it has not ended".to_owned()),
    }
    Ok(())
}

// === into the store ===

async fn write(
    store: &dyn Store,
    record: NamespaceRecord,
    stored: Stored,
    present: Present,
    imported: u64,
) -> Result<(), TransferError> {
    let name = record.name.clone();
    let writes = writes(stored);
    match store.create(record.clone(), writes.clone()).await {
        Err(Error::Exists { .. }) => {}
        created => return Ok(created?),
    }
    let there = store.load(&name).await?;
    if there != Stored::default() && present == Present::Refuse {
        return Err(TransferError::Present { namespace: name.to_string(), imported });
    }
    let epoch = store.lead(&name).await?;
    // Again: it may have changed until we led it.
    let there = store.load(&name).await?;
    if there != Stored::default() && present == Present::Refuse {
        return Err(TransferError::Present { namespace: name.to_string(), imported });
    }
    let mut all = removals(there);
    all.push(Write::Namespace(record));
    all.extend(writes);
    Ok(store.commit(&name, epoch, all).await?)
}

async fn write_policy(
    store: &dyn Store,
    service: &str,
    revisions: Vec<PolicyRecord>,
    present: Present,
    imported: u64,
) -> Result<(), TransferError> {
    if store.policy(service, None).await?.is_some() {
        if present == Present::Refuse {
            return Err(TransferError::PolicyPresent { service: service.to_owned(), imported });
        }
        store.forget_policy(service).await?;
    }
    let mut after = 0;
    for record in revisions {
        let revision = record.head.revision;
        store.save_policy(after, record).await?;
        after = revision;
    }
    Ok(())
}

fn removals(there: Stored) -> Vec<Write> {
    let grants = there.grants.into_iter().map(|(shard, _)| Write::Release { shard });
    let shards = there.drained_shards.into_iter().map(|(shard, _)| Write::UndrainShard { shard });
    let hosts = there.drained_hosts.into_iter().map(|(host, _)| Write::UndrainHost { host });
    grants.chain(shards).chain(hosts).collect()
}

fn writes(stored: Stored) -> Vec<Write> {
    let grants = stored.grants.into_iter().map(|(shard, grant)| Write::Grant { shard, grant });
    let shards = stored.drained_shards.into_iter();
    let shards = shards.map(|(shard, drain)| Write::DrainShard { shard, drain });
    let hosts = stored.drained_hosts.into_iter();
    let hosts = hosts.map(|(host, drain)| Write::DrainHost { host, drain });
    let rest = [Write::GenerationFloor(stored.generation_floor), Write::Loads(stored.loads)];
    grants.chain(shards).chain(hosts).chain(rest).collect()
}
