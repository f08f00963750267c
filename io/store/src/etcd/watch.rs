//! Changes of a few ranges of keys as they happen: each once, none left out.
//!
//! etcd is asked for what follows the last change that was seen, so that a stream
//! that breaks goes on at another member where it was. What etcd has compacted away
//! meanwhile it cannot tell: then everything is read anew. Never gives up, and never
//! says that it waits: whoever must know whether etcd can be reached asks it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tonic::Streaming;

use super::EtcdError;
use super::api::watch_request::RequestUnion;
use super::api::{Event, KeyValue, WatchCreateRequest, WatchRequest, WatchResponse};
use super::client::Client;
use super::txn::read_together;

/// Between two tries at first; twice as long each time after.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two tries at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What is new in the ranges.
#[derive(Debug)]
pub(super) enum News {
    /// All keys of each range at one revision. First, and whenever etcd does not know
    /// any more what has happened since.
    Everything { revision: i64, ranges: Vec<Vec<KeyValue>> },
    /// Changes of one range, in order of revision.
    Changes { range: usize, events: Vec<Event> },
}

/// Follows ranges of keys.
#[derive(Debug)]
pub(super) struct Watch {
    client: Arc<Client>,
    ranges: Vec<Range<Vec<u8>>>,
    /// For each range the revision from which on nothing of it is known; empty:
    /// nothing is known.
    next: Vec<i64>,
    stream: Option<Streaming<WatchResponse>>,
    /// In a row.
    failures: u32,
}

impl Watch {
    pub(super) fn new(client: Arc<Client>, ranges: Vec<Range<Vec<u8>>>) -> Self {
        Self { client, ranges, next: Vec::new(), stream: None, failures: 0 }
    }

    /// Waits for what is new.
    pub(super) async fn news(&mut self) -> News {
        loop {
            let member = self.client.asked_first();
            let trouble = match self.ask().await {
                Ok(Some(news)) => return news,
                Ok(None) => continue,
                Err(trouble) => trouble,
            };
            tracing::warn!(error = %trouble, "the watch of etcd is broken and is taken up again");
            self.stream = None;
            self.client.ask_another(member);
            tokio::time::sleep(self.pause()).await;
            self.failures += 1;
        }
    }

    /// Spread, so that not all servers come back at once.
    fn pause(&self) -> Duration {
        let longest = PAUSE.saturating_mul(1 << self.failures.min(8)).min(LONGEST_PAUSE);
        longest.mul_f64(rand::random_range(0.5..1.0))
    }

    async fn ask(&mut self) -> Result<Option<News>, EtcdError> {
        if self.next.is_empty() {
            return self.everything().await.map(Some);
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => self.stream.insert(self.client.watch(self.requests()).await?),
        };
        match stream.message().await {
            Ok(Some(response)) => self.read(response),
            Ok(None) => Err(self.broken("etcd ended it")),
            Err(status) => Err(self.broken(status.message())),
        }
    }

    async fn everything(&mut self) -> Result<News, EtcdError> {
        let (ranges, revision) = read_together(&self.client, self.ranges.clone()).await?;
        self.next = vec![revision + 1; self.ranges.len()];
        Ok(News::Everything { revision, ranges })
    }

    /// One watch a range; its number is that of the range, from 1.
    fn requests(&self) -> Vec<WatchRequest> {
        let request = |(watch_id, (range, next)): (i64, (&Range<Vec<u8>>, &i64))| {
            let (key, range_end) = (range.start.clone(), range.end.clone());
            let start_revision = *next;
            let create = WatchCreateRequest {
                key,
                range_end,
                start_revision,
                watch_id,
                ..Default::default()
            };
            WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) }
        };
        (1..).zip(self.ranges.iter().zip(&self.next)).map(request).collect()
    }

    fn read(&mut self, response: WatchResponse) -> Result<Option<News>, EtcdError> {
        if response.compact_revision > 0 {
            (self.stream, self.next) = (None, Vec::new());
            return Ok(None);
        }
        if response.canceled {
            // Where the token is stale, it says so or that permission is denied.
            self.client.renew_signature();
            return Err(self.broken(&response.cancel_reason));
        }
        self.failures = 0;
        Ok(self.changes(response))
    }

    /// A response holds all that a revision has done to a range.
    fn changes(&mut self, response: WatchResponse) -> Option<News> {
        let range = usize::try_from(response.watch_id - 1).ok()?;
        let next = self.next.get_mut(range)?;
        let is_new = |event: &Event| revision(event) >= *next;
        let events: Vec<Event> = response.events.into_iter().filter(is_new).collect();
        *next = revision(events.last()?) + 1;
        Some(News::Changes { range, events })
    }

    fn broken(&self, why: &str) -> EtcdError {
        EtcdError::Broken { endpoints: self.client.endpoints(), why: why.to_owned() }
    }
}

/// When it happened.
pub(super) fn revision(event: &Event) -> i64 {
    event.kv.as_ref().map_or(0, |kv| kv.mod_revision)
}
