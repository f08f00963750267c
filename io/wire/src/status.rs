//! `google.rpc.Status`: the typed errors of the Go wire travel in it, as
//! `grpc-status-details-bin`, and nowhere else.

use prost::{Message, Name};
use prost_types::Any;
use tonic::{Code, Status};

use crate::sharddistributor as go;

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}

/// The errors that the Go clients know by type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedError {
    NamespaceNotFound(go::NamespaceNotFoundError),
    ShardNotFound(go::ShardNotFoundError),
    ShardDrained(go::ShardDrainedError),
}

impl TypedError {
    /// There is no such namespace.
    pub fn namespace_not_found(namespace: &str) -> Self {
        Self::NamespaceNotFound(go::NamespaceNotFoundError { namespace: namespace.to_owned() })
    }

    /// There is no such shard, or it has no owner.
    pub fn shard_not_found(namespace: &str, shard_key: &str) -> Self {
        let (namespace, shard_key) = (namespace.to_owned(), shard_key.to_owned());
        Self::ShardNotFound(go::ShardNotFoundError { namespace, shard_key })
    }

    /// The shard is drained.
    pub fn shard_drained(namespace: &str, shard_key: &str) -> Self {
        let (namespace, shard_key) = (namespace.to_owned(), shard_key.to_owned());
        Self::ShardDrained(go::ShardDrainedError { namespace, shard_key })
    }

    /// The typed error in a status, if there is one. Only the first detail counts.
    pub fn in_status(status: &Status) -> Option<Self> {
        let details = RpcStatus::decode(status.details()).ok()?.details;
        let any = details.first()?;
        match any.type_url.rsplit('/').next()? {
            name if name == go::NamespaceNotFoundError::full_name() => {
                Some(Self::NamespaceNotFound(Message::decode(&*any.value).ok()?))
            }
            name if name == go::ShardNotFoundError::full_name() => {
                Some(Self::ShardNotFound(Message::decode(&*any.value).ok()?))
            }
            name if name == go::ShardDrainedError::full_name() => {
                Some(Self::ShardDrained(Message::decode(&*any.value).ok()?))
            }
            _ => None,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::NamespaceNotFound(_) | Self::ShardNotFound(_) => Code::NotFound,
            Self::ShardDrained(_) => Code::FailedPrecondition,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NamespaceNotFound(e) => format!("namespace not found {}", e.namespace),
            Self::ShardNotFound(e) => format!("shard not found {}:{}", e.namespace, e.shard_key),
            Self::ShardDrained(e) => format!("shard drained {}:{}", e.namespace, e.shard_key),
        }
    }

    fn any(&self) -> Any {
        match self {
            Self::NamespaceNotFound(error) => pack(error),
            Self::ShardNotFound(error) => pack(error),
            Self::ShardDrained(error) => pack(error),
        }
    }
}

impl From<TypedError> for Status {
    fn from(error: TypedError) -> Self {
        let (code, message) = (error.code(), plain(&error.message()));
        let status =
            RpcStatus { code: code as i32, message: message.clone(), details: vec![error.any()] };
        Status::with_details(code, message, status.encode_to_vec().into())
    }
}

/// The longest message that is sent, in bytes: it travels in headers, which
/// clients limit.
const MAX_MESSAGE: usize = 1024;

/// A message that every client can show. YARPC takes it for a format string, so
/// that a percent sign would garble it; what was sent in may be of any length.
pub fn plain(message: &str) -> String {
    let end = message.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = end.take_while(|end| *end <= MAX_MESSAGE).last().unwrap_or(0);
    let mut plain = message[..fits].replace('%', "?");
    if fits < message.len() {
        plain.push_str(" ...");
    }
    plain
}

/// A code as YARPC, metrics and `smctl` write it.
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid-argument",
        Code::DeadlineExceeded => "deadline-exceeded",
        Code::NotFound => "not-found",
        Code::AlreadyExists => "already-exists",
        Code::PermissionDenied => "permission-denied",
        Code::ResourceExhausted => "resource-exhausted",
        Code::FailedPrecondition => "failed-precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out-of-range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data-loss",
        Code::Unauthenticated => "unauthenticated",
    }
}

fn pack<M: Message + Name>(message: &M) -> Any {
    let type_url = format!("type.googleapis.com/{}", M::full_name());
    Any { type_url, value: message.encode_to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_error_survives_its_status() {
        for error in [
            TypedError::namespace_not_found("orders"),
            TypedError::shard_not_found("orders", "7"),
            TypedError::shard_drained("orders", "7"),
        ] {
            assert_eq!(TypedError::in_status(&Status::from(error.clone())), Some(error));
        }
    }

    #[test]
    fn the_status_inside_agrees_with_the_one_outside() {
        let status = Status::from(TypedError::shard_drained("orders", "50%"));
        let inner = RpcStatus::decode(status.details()).unwrap();
        assert_eq!((inner.code, inner.message.as_str()), (9, "shard drained orders:50?"));
        let url = "type.googleapis.com/uber.cadence.sharddistributor.v1.ShardDrainedError";
        assert_eq!(inner.details[0].type_url, url);
    }

    #[test]
    fn a_plain_status_has_no_typed_error() {
        assert_eq!(TypedError::in_status(&Status::internal("x")), None);
    }
}
