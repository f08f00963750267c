//! What is known of the request that is being handled, for the calls that its
//! handler makes.
//!
//! The server layer sets it around the handler, the client layer reads it. It
//! belongs to the task: work that a handler spawns carries it on only if it is
//! wrapped in [`Context::scope`].

use std::future::Future;
use std::time::Duration;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use tokio::time::Instant;

tokio::task_local! {
    static CURRENT: Context;
}

/// What is known of the request that is being handled.
///
/// ```
/// use plimsoll_qalm::Context;
///
/// # async fn audit() {}
/// # async fn handler() {
/// // Work that goes on after the answer, with the level of its request:
/// match Context::current() {
///     Some(context) => tokio::spawn(context.scope(audit())),
///     None => tokio::spawn(audit()),
/// };
/// # }
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Context {
    /// The level at which it was admitted.
    pub level: Criticality,
    pub cohort: Cohort,
    /// When its caller stops waiting; `None`: not said.
    pub deadline: Option<Instant>,
}

impl Context {
    /// That of the request that this task handles; `None` outside of one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|it| *it).ok()
    }

    /// Runs something as part of that request.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// Runs one step of something as part of that request.
    pub(crate) fn enter<T>(self, step: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, step)
    }

    /// How long its caller still waits; zero if no longer. `None`: not said.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|it| it.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        let deadline = Some(Instant::now() + Duration::from_secs(1));
        Context { level: Criticality::Internal, cohort: Cohort::default(), deadline }
    }

    #[tokio::test]
    async fn it_is_there_inside_and_only_there() {
        assert_eq!(Context::current(), None);
        let context = context();
        let seen = context.scope(async { Context::current() }).await;
        assert_eq!((seen, Context::current()), (Some(context), None));
    }

    #[tokio::test]
    async fn a_spawned_task_has_it_if_it_is_given_on() {
        let context = context();
        let inner = context.scope(async {
            let lost = tokio::spawn(async { Context::current() }).await.unwrap();
            let kept = tokio::spawn(context.scope(async { Context::current() })).await.unwrap();
            (lost, kept)
        });
        assert_eq!(inner.await, (None, Some(context)));
    }

    #[tokio::test]
    async fn what_is_over_has_nothing_left() {
        let over = Context { deadline: Some(Instant::now()), ..context() };
        assert_eq!(over.remaining(), Some(Duration::ZERO));
        assert_eq!(Context { deadline: None, ..over }.remaining(), None);
        assert!(context().remaining().is_some_and(|left| left > Duration::ZERO));
    }
}
