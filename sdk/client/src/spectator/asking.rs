//! Asking a server about one shard, when the map does not know it. All who miss
//! the same key at the same time share one call, and the call goes on even if
//! they all stop waiting. Scouts, who come again by themselves, share one that is
//! not repeated.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared as SharedFuture};
use parking_lot::Mutex;
use plimsoll_placement::time::Time;
use plimsoll_routing::RoutedExecutor;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1::routing_service_client::RoutingServiceClient;
use plimsoll_wire::v1::{LookupRequest, LookupResponse};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::{LookupError, Owner};
use crate::backoff::Backoff;

/// How long a lookup is tried.
const WITHIN: Duration = Duration::from_secs(2);
/// How long one server may take before another is asked.
const ONE_TRY: Duration = Duration::from_secs(1);

pub(super) type Answer = Result<Owner, LookupError>;
pub(super) type Asking = SharedFuture<BoxFuture<'static, Answer>>;

#[derive(Debug)]
pub(super) struct Servers {
    namespace: String,
    channels: Vec<Channel>,
    /// Which of the channels answered last.
    next: AtomicUsize,
    under_way: Mutex<HashMap<(Arc<str>, Patience), Asking>>,
}

/// What is done when no server answers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Patience {
    /// Another one is asked, for a while.
    TryOn,
    Once,
}

impl Servers {
    pub(super) fn new(namespace: String, channels: Vec<Channel>) -> Self {
        Self { namespace, channels, next: AtomicUsize::new(0), under_way: Mutex::default() }
    }

    /// Asks, or joins those who ask for the same key. `keep` gets the answer
    /// before anybody else does.
    pub(super) fn ask(
        self: &Arc<Self>,
        key: &str,
        keep: impl FnOnce(&Arc<str>, &Answer) + Send + 'static,
    ) -> Asking {
        let about = (Arc::from(key), Patience::TryOn);
        let mut under_way = self.under_way.lock();
        if let Some(asking) = under_way.get(&about) {
            return asking.clone();
        }
        let asking = Arc::clone(self).begin(about.clone(), keep);
        under_way.insert(about, asking.clone());
        asking
    }

    /// The same by a single call, which is made only if `admit` agrees. Joining
    /// others is free.
    ///
    /// # Errors
    /// Those of `admit`.
    pub(super) fn ask_once(
        self: &Arc<Self>,
        key: &Arc<str>,
        admit: impl FnOnce() -> Result<(), Time>,
        keep: impl FnOnce(&Arc<str>, &Answer) + Send + 'static,
    ) -> Result<Asking, Time> {
        let mut under_way = self.under_way.lock();
        for patience in [Patience::TryOn, Patience::Once] {
            if let Some(asking) = under_way.get(&(Arc::clone(key), patience)) {
                return Ok(asking.clone());
            }
        }
        admit()?;
        let about = (Arc::clone(key), Patience::Once);
        let asking = Arc::clone(self).begin(about.clone(), keep);
        under_way.insert(about, asking.clone());
        Ok(asking)
    }

    fn begin(
        self: Arc<Self>,
        about: (Arc<str>, Patience),
        keep: impl FnOnce(&Arc<str>, &Answer) + Send + 'static,
    ) -> Asking {
        let cut_off = unavailable(&about.0, "the runtime is shutting down");
        let task = tokio::spawn(async move {
            let (key, patience) = &about;
            let answer = match patience {
                Patience::TryOn => self.ask_until_answered(key).await,
                Patience::Once => self.ask_the_next(key).await,
            };
            keep(key, &answer);
            self.under_way.lock().remove(&about);
            answer
        });
        async move { task.await.unwrap_or(Err(cut_off)) }.boxed().shared()
    }

    async fn ask_until_answered(&self, key: &Arc<str>) -> Answer {
        let mut last = None;
        let tries = self.try_on(key, &mut last);
        match tokio::time::timeout(WITHIN, tries).await {
            Ok(answer) => answer,
            Err(_) => Err(unavailable(key, last.as_deref().unwrap_or("no server answered"))),
        }
    }

    /// Until an answer comes for which trying again is no use.
    async fn try_on(&self, key: &Arc<str>, last: &mut Option<String>) -> Answer {
        let mut backoff = Backoff::default();
        loop {
            match self.ask_the_next(key).await {
                Err(LookupError::Unavailable { message, .. }) => *last = Some(message.to_string()),
                answer => return answer,
            }
            tokio::time::sleep(backoff.next()).await;
        }
    }

    /// If there is no answer, another server is the next.
    async fn ask_the_next(&self, key: &Arc<str>) -> Answer {
        let status = match self.call(key).await {
            Ok(response) => return Ok(owner(response)),
            Err(status) => status,
        };
        if let Some(error) = final_error(key, &status) {
            return Err(error);
        }
        self.next.fetch_add(1, Ordering::Relaxed);
        Err(unavailable(key, status.message()))
    }

    async fn call(&self, key: &str) -> Result<LookupResponse, Status> {
        let mut request = Request::new(LookupRequest {
            namespace: self.namespace.clone(),
            shard_key: key.to_owned(),
        });
        request.set_timeout(ONE_TRY);
        let call = async {
            let response = self.client().lookup(request).await?;
            Ok(response.into_inner())
        };
        let late = || Err(Status::deadline_exceeded("a server did not answer in time"));
        tokio::time::timeout(ONE_TRY, call).await.unwrap_or_else(|_| late())
    }

    fn client(&self) -> RoutingServiceClient<Channel> {
        let next = self.next.load(Ordering::Relaxed) % self.channels.len();
        RoutingServiceClient::new(self.channels[next].clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }
}

fn owner(response: LookupResponse) -> Owner {
    let executor = Arc::new(RoutedExecutor {
        id: response.executor_id.into(),
        metadata: response.metadata.into_iter().collect(),
    });
    Owner { executor, generation: response.generation }
}

/// `None` if the same question may be answered a moment later.
fn final_error(key: &Arc<str>, status: &Status) -> Option<LookupError> {
    let (shard, message) = (Arc::clone(key), status.message().into());
    Some(match status.code() {
        Code::NotFound => LookupError::NotFound { shard, message },
        Code::FailedPrecondition => LookupError::Drained { shard },
        Code::InvalidArgument
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::Unimplemented => LookupError::Refused { shard, message },
        _ => return None,
    })
}

fn unavailable(key: &Arc<str>, message: &str) -> LookupError {
    LookupError::Unavailable { shard: Arc::clone(key), message: message.into() }
}
