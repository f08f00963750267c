//! A failed call in the words of the Go tool.
//!
//! Typed errors are read from `grpc-status-details-bin`; a bad request and an
//! internal error are their message; anything else shows code and message, and
//! a line about what to do where we know it.

use std::fmt;
use std::time::Duration;

use plimsoll_wire::status::{TypedError, code_name};
use tonic::{Code, Status};

use crate::go_duration;

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct RpcError {
    code: Code,
    text: String,
}

impl RpcError {
    /// From the answer of a server, or the failure to reach it.
    pub(crate) fn new(status: &Status, address: &str) -> Self {
        Self { code: status.code(), text: describe(status, address) }
    }

    /// For a call that had no answer in time.
    pub(crate) fn timed_out(address: &str, after: Duration) -> Self {
        let message = format!("no answer from {address} within {}", go_duration::format(after));
        let hint = "give it more time with --context-timeout";
        Self {
            code: Code::DeadlineExceeded,
            text: raw(Code::DeadlineExceeded, &message) + "\n" + hint,
        }
    }

    /// Whether the server does not know the call at all: the Go server, asked
    /// for something that only Plimsoll has.
    pub(crate) fn is_unimplemented(error: &anyhow::Error) -> bool {
        error.downcast_ref::<Self>().is_some_and(|error| error.code == Code::Unimplemented)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for RpcError {}

fn describe(status: &Status, address: &str) -> String {
    match status.code() {
        Code::InvalidArgument | Code::Internal => status.message().to_owned(),
        Code::Unavailable => unavailable(status, address),
        Code::Unimplemented => {
            let hint = "this server does not offer it: only a Plimsoll server has every command";
            format!("{}\n{hint}", raw(status.code(), status.message()))
        }
        code => typed(status).unwrap_or_else(|| raw(code, status.message())),
    }
}

/// Either the server said so, or it could not be reached.
fn unavailable(status: &Status, address: &str) -> String {
    match innermost_cause(status) {
        None => raw(Code::Unavailable, status.message()),
        Some(cause) => {
            let hint = format!("asked {address}: --address or SMCTL_ADDRESS names another server");
            format!("{}\n{hint}", raw(Code::Unavailable, &cause))
        }
    }
}

/// "Connection refused" lies several errors deep.
fn innermost_cause(status: &Status) -> Option<String> {
    let mut cause = std::error::Error::source(status)?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

fn raw(code: Code, message: &str) -> String {
    format!("code:{} message:{message}", code_name(code))
}

fn typed(status: &Status) -> Option<String> {
    Some(match TypedError::in_status(status)? {
        TypedError::NamespaceNotFound(error) => {
            format!("namespace {:?} not found", error.namespace)
        }
        TypedError::ShardNotFound(error) => {
            format!("shard not found {}:{}", error.namespace, error.shard_key)
        }
        TypedError::ShardDrained(error) => {
            format!("shard drained {}:{}", error.namespace, error.shard_key)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(status: &Status) -> String {
        RpcError::new(status, "a:1").to_string()
    }

    #[test]
    fn typed_errors_speak_for_themselves() {
        let namespace = TypedError::namespace_not_found("x");
        assert_eq!(text(&namespace.into()), "namespace \"x\" not found");
        let shard = TypedError::shard_not_found("x", "7");
        assert_eq!(text(&shard.into()), "shard not found x:7");
        let drained = TypedError::shard_drained("x", "7");
        assert_eq!(text(&drained.into()), "shard drained x:7");
    }

    #[test]
    fn bad_requests_and_internal_errors_are_their_message() {
        assert_eq!(text(&Status::invalid_argument("bad")), "bad");
        assert_eq!(text(&Status::internal("broken")), "broken");
    }

    #[test]
    fn the_rest_shows_its_code() {
        assert_eq!(text(&Status::not_found("gone")), "code:not-found message:gone");
        assert_eq!(text(&Status::permission_denied("no")), "code:permission-denied message:no");
        assert_eq!(
            text(&Status::unavailable("no executors")),
            "code:unavailable message:no executors"
        );
    }

    #[test]
    fn a_detail_that_is_no_status_is_ignored() {
        let status = Status::with_details(Code::NotFound, "gone", vec![0xff_u8; 3].into());
        assert_eq!(text(&status), "code:not-found message:gone");
    }
}
