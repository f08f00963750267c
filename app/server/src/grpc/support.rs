//! What the services share: finding a namespace, finding an owner, counting.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_ownership::action::Outcome;
use plimsoll_wire::status::{TypedError, code_name, plain};
use tonic::{Response, Status};

use super::Services;
use crate::board::{Found, Owner};
use crate::driver::{Gone, NamespaceHandle};

/// The longest that a question waits for an owner if the caller sets no deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Where a shard is.
#[derive(Debug)]
pub(super) enum Located {
    Owner(Owner),
    Drained,
    NotFound,
    NoExecutor,
}

impl Services {
    pub(super) fn namespace(&self, name: &str) -> Result<Arc<NamespaceHandle>, Status> {
        self.namespaces.get(name).ok_or_else(|| TypedError::namespace_not_found(name).into())
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
        namespace: &NamespaceHandle,
        key: &str,
        create: bool,
    ) -> Result<Located, Status> {
        match namespace.board.find(key) {
            Found::Owner(owner) => return Ok(Located::Owner(owner)),
            Found::Drained => return Ok(Located::Drained),
            Found::Unknown if !create => return Ok(Located::NotFound),
            Found::Unknown => {}
        }
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

/// The namespace is not led here any more.
pub(super) fn gone(gone: Gone) -> Status {
    Status::unavailable(gone.to_string())
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
