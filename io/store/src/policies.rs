//! The contract of a store about policies of load shedding.
//!
//! A policy belongs to a service and to no namespace, and nobody leads a service:
//! each save names the revision that it follows, and of two that follow the same one
//! passes. What a text means is nobody's concern here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;

use crate::{Answer, Error};

/// The longest text of a policy, in bytes: with all around it, it fits into one
/// transaction of etcd.
pub const MAX_POLICY_BYTES: usize = 1024 * 1024;
/// Revisions that are kept of each service, the newest.
pub const KEPT_REVISIONS: usize = 200;

/// One revision of a policy, without its text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyHead {
    pub service: Arc<str>,
    /// From 1.
    pub revision: u64,
    /// Milliseconds since 1970, of the clock of the server that took it.
    pub saved_at_ms: u64,
    /// Who says to have saved it; may be empty.
    pub author: String,
    /// Why; may be empty.
    pub comment: String,
    /// The revision whose text this one brings back; 0: none.
    pub rolled_back_to: u64,
}

/// One revision of a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyRecord {
    pub head: PolicyHead,
    pub text: Arc<str>,
}

/// The newest revision of every service that has a policy.
pub type NewestPolicies = Arc<BTreeMap<Arc<str>, PolicyHead>>;

/// Where policies are kept.
pub trait Policies: fmt::Debug + Send + Sync + 'static {
    /// The newest revision of every service.
    fn newest_policies(&self) -> Answer<'_, NewestPolicies>;

    /// One revision of a service, `None` the newest. `Ok(None)`: there is none such,
    /// or it is kept no more.
    fn policy(&self, service: &str, revision: Option<u64>) -> Answer<'_, Option<PolicyRecord>>;

    /// The revisions of a service that are kept, the newest first.
    fn policy_history(&self, service: &str) -> Answer<'_, Vec<PolicyHead>>;

    /// Stores a revision that follows the revision `after`, 0 if it is the first, and
    /// forgets those beyond [`KEPT_REVISIONS`], in one atomic step.
    ///
    /// [`Error::PolicyChanged`] if the newest one is not `after`,
    /// [`Error::PolicyTooLong`] beyond [`MAX_POLICY_BYTES`]. The revision is above
    /// `after`, by one but for an import.
    fn save_policy(&self, after: u64, record: PolicyRecord) -> Answer<'_, ()>;

    /// Removes every revision of a service, if there are any.
    fn forget_policy(&self, service: &str) -> Answer<'_, ()>;

    /// The newest revisions as they are, and again whenever they have changed, without
    /// end. Of changes that follow each other quickly only the last may be told; that
    /// one always is, also after the store could not be reached for a while.
    fn watch_policies(&self) -> BoxStream<'static, NewestPolicies>;
}

// The refusals that every store makes alike.
impl PolicyRecord {
    pub(crate) fn check(&self, after: u64, newest: Option<&PolicyHead>) -> Result<(), Error> {
        let present = newest.map_or(0, |head| head.revision);
        let service = || Arc::clone(&self.head.service);
        if self.text.len() > MAX_POLICY_BYTES {
            return Err(Error::PolicyTooLong { service: service(), bytes: self.text.len() });
        }
        if present != after || self.head.revision <= after {
            return Err(Error::PolicyChanged { service: service(), after, present });
        }
        Ok(())
    }
}
