//! What the services share: finding a namespace, finding an owner, counting.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_ownership::action::Outcome;
use plimsoll_wire::status::{TypedError, code_name, plain};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Response, Status};

use super::{Services, validate};
use crate::board::{Found, Owner};
use crate::driver::{Gone, NamespaceHandle};
use crate::listing::Listed;

/// The longest that a question waits for an owner if the caller sets no deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// On an answer from a replica: how long ago its leader confirmed it, in milliseconds.
const REPLICA_AGE: &str = "plimsoll-replica-age-ms";

/// Where a shard is.
#[derive(Debug)]
pub(super) enum Located {
    Owner(Owner),
    Drained,
    NotFound,
    NoExecutor,
}

impl Services {
    /// A namespace that is led here.
    pub(super) fn namespace(&self, name: &str) -> Result<Arc<NamespaceHandle>, Status> {
        match self.namespaces.get(name) {
            Some(handle) => Ok(handle),
            // It has just changed its leader: the next call is passed on.
            None if self.namespaces.listing.get(name).is_some() => Err(gone(Gone)),
            None => Err(TypedError::namespace_not_found(name).into()),
        }
    }

    /// A namespace, whoever leads it.
    pub(super) fn listed(&self, name: &str) -> Result<Arc<Listed>, Status> {
        let listed = self.namespaces.listing.get(name);
        listed.ok_or_else(|| TypedError::namespace_not_found(name).into())
    }

    /// Tells how old a map is that is not the leader's own.
    pub(super) fn tell_age<T>(&self, listed: &Listed, answer: &mut Response<T>) {
        if let Some(age) = self.replica_age(listed) {
            let age = MetadataValue::from(age.as_millis() as u64);
            answer.metadata_mut().insert(REPLICA_AGE, age);
        }
    }

    /// How old a map is that is not the leader's own.
    pub(super) fn replica_age(&self, listed: &Listed) -> Option<Duration> {
        match self.namespaces.get(&listed.name) {
            Some(_) => None,
            None => Some(listed.board.age(self.clock.now()).unwrap_or_default()),
        }
    }

    /// Counts and times a call.
    pub(super) async fn counted<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<Response<T>, Status> {
        let start = Instant::now();
        let answer = call.await;
        let code = answer.as_ref().err().map(|status| code_name(status.code()));
        self.metrics.answered(operation, start.elapsed(), code);
        answer.map(Response::new)
    }

    /// Finds the owner of a shard, and has it made if `create` says so.
    pub(super) async fn find_owner(
        &self,
        listed: &Listed,
        key: &str,
        create: bool,
    ) -> Result<Located, Status> {
        match listed.board.find(key) {
            Found::Owner(owner) => return Ok(Located::Owner(owner)),
            Found::Drained => return Ok(Located::Drained),
            Found::Unknown if !create => return Ok(Located::NotFound),
            Found::Unknown => {}
        }
        let namespace = self.namespace(&listed.name)?;
        let located = tokio::time::timeout(LONGEST_WAIT, namespace.locate(Arc::from(key)));
        match located.await {
            Ok(outcome) => Ok(outcome.map_err(gone)?.into()),
            Err(_) => Err(Status::unavailable("the shard got no owner in time: try again")),
        }
    }
}

impl From<Outcome> for Located {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Owner { executor, generation, metadata } => Self::Owner(Owner {
                executor: Arc::new(plimsoll_routing::RoutedExecutor {
                    id: executor,
                    metadata: (*metadata).clone(),
                }),
                generation,
            }),
            Outcome::Drained => Self::Drained,
            Outcome::NoExecutor => Self::NoExecutor,
            Outcome::NotFound | Outcome::Ordered { .. } => Self::NotFound,
        }
    }
}

/// Who gives an order and why, for the history: `plimsoll-ordered-by-bin` and
/// `plimsoll-reason-bin` of the call, which may both be missing. Beside the messages,
/// since one of the wires cannot be changed.
pub(super) fn why(metadata: &MetadataMap) -> Result<String, Status> {
    let read = |key: &str, what: &str| {
        let Some(value) = metadata.get_bin(key) else { return Ok(String::new()) };
        let bytes = value.to_bytes().map_err(|_| invalid(format!("invalid {what}")))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        validate::text(what, &text).map(|()| text)
    };
    let by = read(plimsoll_wire::ORDERED_BY, "ordered_by")?;
    let reason = read(plimsoll_wire::REASON, "reason")?;
    Ok(match (by.as_str(), reason.as_str()) {
        ("", _) => reason,
        (_, "") => format!("by {by}"),
        (_, _) => format!("by {by}: {reason}"),
    })
}

/// The namespace is not led here any more.
pub(super) fn gone(gone: Gone) -> Status {
    Status::unavailable(gone.to_string())
}

/// This server has not heard of the leader since it was started.
pub(super) fn no_map_yet(namespace: &str) -> Status {
    Status::unavailable(format!("this server has no map of {namespace} yet: watch elsewhere"))
}

/// A watch that got as far as the generated service: [`super::pushed`] stands
/// before it.
pub(super) fn answered_elsewhere() -> Status {
    Status::internal("the watch is not wired to its service in this build")
}

/// The caller did something wrong.
pub(super) fn invalid(reason: impl std::fmt::Display) -> Status {
    Status::invalid_argument(plain(&reason.to_string()))
}
