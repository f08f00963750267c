//! Transactions and ranges in few words.

use std::ops::Range;

use super::EtcdError;
use super::api::compare::{CompareResult, CompareTarget, TargetUnion};
use super::api::{
    Compare, KeyValue, RangeRequest, RequestOp, TxnRequest, TxnResponse, request_op, response_op,
};
use super::client::Client;

/// Keys of one page of a range.
const PAGE: i64 = 5000;

/// The key holds exactly this.
pub(super) fn holds(key: Vec<u8>, value: Vec<u8>) -> Compare {
    compare(key, CompareResult::Equal, CompareTarget::Value, TargetUnion::Value(value))
}

/// The key is there.
pub(super) fn exists(key: Vec<u8>) -> Compare {
    let created = TargetUnion::CreateRevision(0);
    compare(key, CompareResult::Greater, CompareTarget::Create, created)
}

/// The key is as it was at that revision; 0: it is not there.
pub(super) fn unchanged(key: Vec<u8>, mod_revision: i64) -> Compare {
    let modified = TargetUnion::ModRevision(mod_revision);
    compare(key, CompareResult::Equal, CompareTarget::Mod, modified)
}

fn compare(
    key: Vec<u8>,
    result: CompareResult,
    target: CompareTarget,
    with: TargetUnion,
) -> Compare {
    Compare { result: result.into(), target: target.into(), key, target_union: Some(with) }
}

/// Reads one key within a transaction.
pub(super) fn get(key: Vec<u8>) -> RequestOp {
    let request = RangeRequest { key, ..RangeRequest::default() };
    RequestOp { request: Some(request_op::Request::RequestRange(request)) }
}

/// What the `number`th operation of a transaction, a [`get`], has read.
pub(super) fn got(response: &TxnResponse, number: usize) -> Option<&KeyValue> {
    match response.responses.get(number)?.response.as_ref()? {
        response_op::Response::ResponseRange(range) => range.kvs.first(),
        _ => None,
    }
}

/// Ranges as of one revision, and that. Not a transaction: an etcd whose space is used
/// up refuses those, also where they only read.
pub(super) async fn read_together(
    client: &Client,
    ranges: impl IntoIterator<Item = Range<Vec<u8>>>,
) -> Result<(Vec<Vec<KeyValue>>, i64), EtcdError> {
    let (mut all, mut revision) = (Vec::new(), 0);
    for range in ranges {
        let (found, read_at) = read_all(client, range, revision).await?;
        all.push(found);
        revision = read_at;
    }
    Ok((all, revision))
}

/// The range of one key.
pub(super) fn only(key: Vec<u8>) -> Range<Vec<u8>> {
    let end = [&key[..], &[0]].concat();
    key..end
}

/// One key as it is now.
pub(super) async fn read(client: &Client, key: Vec<u8>) -> Result<Option<KeyValue>, EtcdError> {
    let request = RangeRequest { key, ..RangeRequest::default() };
    Ok(client.range(request).await?.kvs.into_iter().next())
}

/// All of a range as of one revision, page by page, in order of key; `revision` 0
/// is now. Returns the revision too.
pub(super) async fn read_all(
    client: &Client,
    range: Range<Vec<u8>>,
    mut revision: i64,
) -> Result<(Vec<KeyValue>, i64), EtcdError> {
    let mut all = Vec::new();
    let mut key = range.start;
    loop {
        let range_end = range.end.clone();
        let request =
            RangeRequest { key, range_end, limit: PAGE, revision, ..RangeRequest::default() };
        let page = client.range(request).await?;
        if revision == 0 {
            revision = page.header.map_or(0, |header| header.revision);
        }
        all.extend(page.kvs);
        match all.last() {
            Some(last) if page.more => key = [&last.key[..], &[0]].concat(),
            _ => return Ok((all, revision)),
        }
    }
}

pub(super) fn txn(
    compare: Vec<Compare>,
    success: Vec<RequestOp>,
    failure: Vec<RequestOp>,
) -> TxnRequest {
    TxnRequest { compare, success, failure }
}
