//! "Not here, but there": how a process that does not run a shard says so, and how
//! whoever asked it understands.
//!
//! On gRPC it is UNAVAILABLE and on HTTP 421 Misdirected Request, both with the
//! header [`MOVED_TO`]: the address of the next owner, empty if that is not known.
//! A request that was answered so did nothing and may be sent elsewhere.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use tonic::Status;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

use crate::BoxError;

/// The header, and the gRPC metadata key, that names the next owner's address.
pub const MOVED_TO: &str = "plimsoll-moved-to";

/// The header, and the gRPC metadata key, that names the next owner's id.
pub const MOVED_TO_EXECUTOR: &str = "plimsoll-moved-to-executor";

/// The executor that a shard is, or is about to be, granted to instead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NextOwner {
    pub executor_id: Arc<str>,
    /// Where it answers, if it says so.
    pub address: Option<Arc<str>>,
}

impl From<plimsoll_ownership::message::NextOwner> for NextOwner {
    fn from(next: plimsoll_ownership::message::NextOwner) -> Self {
        let address = Some(next.address).filter(|address| !address.is_empty());
        Self { executor_id: next.executor, address }
    }
}

/// The shard does not run here at this instant. Whatever was asked has not begun.
///
/// Answer callers with it: as a [`Status`] (`status.into()`), or as
/// [`header`](Self::header) of a 421.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotHere {
    pub shard: Arc<str>,
    /// Who runs it next, if the server said so when it took the shard away.
    pub next: Option<NextOwner>,
}

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shard = &self.shard;
        match &self.next {
            Some(next) => write!(f, "shard {shard:?} went to executor {:?}", &*next.executor_id),
            None => write!(f, "shard {shard:?} does not run here"),
        }
    }
}

impl Error for NotHere {}

impl NotHere {
    /// What to set as [`MOVED_TO`] on a 421 Misdirected Request.
    pub fn header(&self) -> &str {
        let address = self.next.as_ref().and_then(|next| next.address.as_deref());
        address.unwrap_or_default()
    }
}

impl From<NotHere> for Status {
    fn from(not_here: NotHere) -> Self {
        let mut metadata = MetadataMap::new();
        metadata.insert(MOVED_TO, ascii(not_here.header()));
        if let Some(next) = &not_here.next {
            metadata.insert(MOVED_TO_EXECUTOR, ascii(&next.executor_id));
        }
        Self::with_metadata(tonic::Code::Unavailable, not_here.to_string(), metadata)
    }
}

/// Nothing instead of what does not fit into a header.
fn ascii(text: &str) -> MetadataValue<Ascii> {
    text.parse().unwrap_or_else(|_| MetadataValue::from_static(""))
}

// === understanding it ===

/// Why a request did nothing where it was sent, so that it may be sent elsewhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Misdirected {
    /// The process does not run the shard, and may know who does.
    NotHere(Option<NextOwner>),
    /// Nobody accepts connections at that address.
    Unreached,
}

/// An error that may say that the request did nothing where it was sent.
pub trait Redirect {
    /// `None` if the request may have done something: then the error is the answer.
    fn redirect(&self) -> Option<Misdirected>;
}

impl Redirect for NotHere {
    fn redirect(&self) -> Option<Misdirected> {
        Some(Misdirected::NotHere(self.next.clone()))
    }
}

impl Redirect for Status {
    fn redirect(&self) -> Option<Misdirected> {
        let text = |key| self.metadata().get(key).and_then(|value| value.to_str().ok());
        match text(MOVED_TO) {
            Some(address) => Some(not_here(address, text(MOVED_TO_EXECUTOR))),
            None => unreached(self),
        }
    }
}

impl Redirect for BoxError {
    fn redirect(&self) -> Option<Misdirected> {
        if let Some(not_here) = self.downcast_ref::<NotHere>() {
            return not_here.redirect();
        }
        match self.downcast_ref::<Status>() {
            Some(status) => status.redirect(),
            None => unreached(&**self),
        }
    }
}

/// What the two headers say. An address alone is enough to go there.
pub(crate) fn not_here(address: &str, executor: Option<&str>) -> Misdirected {
    let executor = executor.filter(|id| !id.is_empty());
    let address = Some(address).filter(|address| !address.is_empty());
    let named = executor.or(address);
    Misdirected::NotHere(
        named.map(|id| NextOwner { executor_id: id.into(), address: address.map(Arc::from) }),
    )
}

/// A connection that was refused, however deep in the causes: the only failure
/// that proves that nothing was sent.
pub(crate) fn unreached(error: &(dyn Error + 'static)) -> Option<Misdirected> {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    let refused = causes.any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    });
    refused.then_some(Misdirected::Unreached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_where_the_shard_went_and_is_understood() {
        let next = NextOwner { executor_id: "b".into(), address: Some("http://b:80".into()) };
        let not_here = NotHere { shard: "7".into(), next: Some(next.clone()) };
        let status = Status::from(not_here);
        assert_eq!(status.message(), "shard \"7\" went to executor \"b\"");
        assert_eq!(status.metadata().get(MOVED_TO).unwrap(), "http://b:80");
        assert_eq!(status.redirect(), Some(Misdirected::NotHere(Some(next))));
    }

    #[test]
    fn a_status_without_a_next_owner_is_understood_too() {
        let status = Status::from(NotHere { shard: "ü".into(), next: None });
        assert_eq!(status.redirect(), Some(Misdirected::NotHere(None)));
    }

    #[test]
    fn an_id_that_no_header_can_carry_is_left_out_and_the_address_stands_for_it() {
        let next = NextOwner { executor_id: "ü\n".into(), address: Some("b:80".into()) };
        let status = Status::from(NotHere { shard: "7".into(), next: Some(next) });
        let by_address = NextOwner { executor_id: "b:80".into(), address: Some("b:80".into()) };
        assert_eq!(status.redirect(), Some(Misdirected::NotHere(Some(by_address))));
    }

    #[test]
    fn only_a_refused_connection_proves_that_nothing_was_sent() {
        let boxed = |kind| -> BoxError { Box::new(io::Error::from(kind)) };
        let refused = boxed(io::ErrorKind::ConnectionRefused).redirect();
        assert_eq!(refused, Some(Misdirected::Unreached));
        assert_eq!(boxed(io::ErrorKind::ConnectionReset).redirect(), None);
        assert_eq!(Status::unavailable("full").redirect(), None);
    }
}
