//! Writing all of a store down.

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::lines::Line;
use super::section::Section;
use super::{TransferError, Transferred, version};
use crate::record::{NamespaceRecord, Stored};
use crate::{Error, Store};

/// Writes every namespace and policy to `out`, one after the other, and flushes it.
/// Servers may go on meanwhile. A namespace that is deleted meanwhile is left out, as is
/// the policy of a service that had none at the beginning.
///
/// # Errors
/// The store cannot be read, or `out` not written: what is there then is no export.
pub async fn export(
    store: &dyn Store,
    out: impl AsyncWrite + Send + Unpin,
) -> Result<Transferred, TransferError> {
    let mut writer = Writer { out, total: Transferred::default() };
    let policies = store.newest_policies().await?;
    let version = version(policies.len() as u64);
    writer.line(&Line::PlimsollExport { version }).await?;
    for record in store.namespaces().await? {
        match store.load(&record.name).await {
            Ok(stored) => writer.namespace(record, stored).await?,
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for service in policies.keys() {
        writer.policy(store, service).await?;
    }
    let Transferred { namespaces, policies, .. } = writer.total;
    writer.line(&Line::EndOfExport { namespaces, policies }).await?;
    writer.out.flush().await?;
    Ok(writer.total)
}

struct Writer<W> {
    out: W,
    total: Transferred,
}

impl<W: AsyncWrite + Send + Unpin> Writer<W> {
    async fn namespace(
        &mut self,
        record: NamespaceRecord,
        stored: Stored,
    ) -> Result<(), TransferError> {
        let mut section = Section::default();
        for line in lines(record, stored) {
            let line = self.line(&line).await?;
            section.pass(&line);
        }
        self.total.namespaces += 1;
        self.total.records += section.records();
        self.line(&section.end()).await?;
        Ok(())
    }

    /// The oldest revision may be forgotten meanwhile, when a newer one is saved.
    async fn policy(&mut self, store: &dyn Store, service: &str) -> Result<(), TransferError> {
        let mut section = Section::default();
        let first = self.line(&Line::Policy { service: service.to_owned() }).await?;
        section.pass(&first);
        for head in store.policy_history(service).await?.into_iter().rev() {
            let Some(record) = store.policy(service, Some(head.revision)).await? else { continue };
            let (head, text) = (record.head, record.text.to_string());
            let line = self.line(&Line::Revision { head, text }).await?;
            section.pass(&line);
        }
        self.total.policies += 1;
        self.total.revisions += section.records();
        self.line(&section.end_of_policy()).await?;
        Ok(())
    }

    /// Returns it as written, without the newline.
    async fn line(&mut self, line: &Line) -> Result<Vec<u8>, TransferError> {
        let line = serde_json::to_vec(line).map_err(std::io::Error::from)?;
        self.out.write_all(&line).await?;
        self.out.write_all(b"\n").await?;
        Ok(line)
    }
}

fn lines(record: NamespaceRecord, stored: Stored) -> impl Iterator<Item = Line> {
    let NamespaceRecord { name, kind, settings, frozen } = record;
    let generation_floor = stored.generation_floor;
    let name = name.to_string();
    let first = Line::Namespace { name, kind, settings, frozen, generation_floor };
    let grants = stored.grants.into_iter().map(|(shard, grant)| Line::Grant {
        shard: shard.to_string(),
        executor: grant.executor.to_string(),
        generation: grant.generation,
    });
    let shards = stored.drained_shards.into_iter();
    let shards =
        shards.map(|(shard, drain)| Line::DrainedShard { shard: shard.to_string(), drain });
    let hosts = stored.drained_hosts.into_iter();
    let hosts = hosts.map(|(host, drain)| Line::DrainedHost { host: host.to_string(), drain });
    let loads = stored.loads.into_iter();
    let loads =
        loads.map(|(shard, load)| Line::Load { shard: shard.to_string(), load: load.to_string() });
    [first].into_iter().chain(grants).chain(shards).chain(hosts).chain(loads)
}
