//! Batches that are too large for one transaction.
//!
//! Their parts are written first, where nobody looks for records. One transaction
//! then names them committed, under the same guards as a small batch: from there on
//! the batch is part of what is stored, whoever dies. Then the parts are carried
//! over, and last the mark and the parts are cleared away. Whoever leads next
//! finishes a batch that is marked; parts without a mark mean nothing.

use prost::Message;

use super::EtcdError;
use super::api::{Compare, RequestOp, TxnRequest, TxnResponse};
use super::batch::{delete, put};
use super::client::Client;
use super::keys::{Folder, Keys};
use super::txn::{holds, read, read_all, txn};

/// Writes the parts of a batch and returns the operation that commits them.
pub(super) async fn prepare(
    client: &Client,
    keys: &Keys,
    name: &str,
    parts: Vec<Vec<RequestOp>>,
) -> Result<RequestOp, EtcdError> {
    let batch = format!("{:032x}", rand::random::<u128>());
    let count = parts.len();
    for (number, success) in parts.into_iter().enumerate() {
        let part = TxnRequest { success, ..TxnRequest::default() }.encode_to_vec();
        let key = keys.within(Folder::Redo, name, &format!("{batch}/{number:08}"));
        client.txn(txn(Vec::new(), vec![put(key, part)], Vec::new())).await?;
    }
    let mark = format!("{batch} {count}").into_bytes();
    Ok(put(keys.of(Folder::Committed, name), mark))
}

/// Carries a marked batch over, if there is one, and clears up. Several may do it at
/// the same time: once the mark is gone, none of them writes any more.
pub(super) async fn finish(client: &Client, keys: &Keys, name: &str) -> Result<(), EtcdError> {
    let mark_key = keys.of(Folder::Committed, name);
    let Some(mark) = read(client, mark_key.clone()).await? else { return Ok(()) };
    let marked = || holds(mark_key.clone(), mark.value.clone());
    for part in parts(client, keys, name, &mark.value).await? {
        let answer = client.txn(txn(vec![marked()], part, Vec::new())).await?;
        if !answer.succeeded {
            return Ok(());
        }
    }
    let cleared =
        vec![delete(mark_key.clone()..Vec::new()), delete(keys.all_within(Folder::Redo, name))];
    client.txn(txn(vec![marked()], cleared, Vec::new())).await?;
    Ok(())
}

async fn parts(
    client: &Client,
    keys: &Keys,
    name: &str,
    mark: &[u8],
) -> Result<Vec<Vec<RequestOp>>, EtcdError> {
    let damaged = |detail: &str| EtcdError::Damaged {
        key: keys.of(Folder::Committed, name).escape_ascii().to_string(),
        detail: detail.to_owned(),
    };
    let mark = str::from_utf8(mark).map_err(|_| damaged("it is not text"))?;
    let (batch, count) = mark.split_once(' ').ok_or_else(|| damaged("it names no count"))?;
    let range = keys.part_of(Folder::Redo, name, batch);
    let (stored, _) = read_all(client, range, 0).await?;
    if count.parse() != Ok(stored.len()) {
        return Err(damaged("parts of the batch are missing"));
    }
    let decode = |part: super::api::KeyValue| {
        let part = TxnRequest::decode(&*part.value).map_err(|_| damaged("a part is damaged"))?;
        Ok(part.success)
    };
    stored.into_iter().map(decode).collect()
}

/// One transaction, or the mark of a large batch in one, under these guards.
/// `always` goes along in the same transaction.
pub(super) async fn commit(
    client: &Client,
    keys: &Keys,
    name: &str,
    guards: Vec<Compare>,
    parts: Vec<Vec<RequestOp>>,
    always: Vec<RequestOp>,
    otherwise: Vec<RequestOp>,
) -> Result<TxnResponse, EtcdError> {
    let (mut operations, large) = match <[_; 1]>::try_from(parts) {
        Ok([part]) => (part, false),
        Err(parts) => (vec![prepare(client, keys, name, parts).await?], true),
    };
    operations.extend(always);
    let answer = client.txn(txn(guards, operations, otherwise)).await?;
    if large && answer.succeeded {
        finish(client, keys, name).await?;
    }
    Ok(answer)
}
