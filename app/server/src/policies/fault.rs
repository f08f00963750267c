//! Why a call about policies was refused; each wire has words of its own for it.

use plimsoll_store::{Error as StoreError, PolicyHead};
use tonic::Status;

/// Milliseconds after which a client may come again, as gRPC says it.
const PUSHBACK: &str = "grpc-retry-pushback-ms";
const COME_AGAIN_MS: u64 = 5000;
/// The line of a text that makes no sense.
pub const LINE: &str = "plimsoll-policy-line";
/// The newest revision, where another one was expected.
pub const PRESENT: &str = "plimsoll-present-revision";

/// The longest reason on the wire: it travels in headers.
const MAX_MESSAGE: usize = 2048;

/// Why a call about policies was refused.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A name or another argument that makes no sense.
    #[error("{0}")]
    Wrong(String),
    /// A text that makes no sense.
    #[error("{}{reason}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
    Text { line: Option<usize>, reason: String },
    #[error("{0}")]
    Missing(String),
    /// Somebody else saved in between; 0: there is none.
    #[error("{}", changed(*present, head.as_deref()))]
    Changed { present: u64, head: Option<Box<PolicyHead>> },
    #[error("{0}: try again later")]
    Full(String),
    #[error("the server is leaving: connect to another one")]
    Leaving,
    #[error("the instance has connected anew")]
    Replaced,
    /// Nobody knows whether a change was kept.
    #[error("{0}")]
    Store(StoreError),
}

fn changed(present: u64, head: Option<&PolicyHead>) -> String {
    let what = match (present, head) {
        (0, _) => return "there is no policy yet: nothing was saved".to_owned(),
        (_, Some(head)) if !head.author.is_empty() => {
            format!("{} has saved revision {present} in between", head.author)
        }
        _ => format!("revision {present} was saved in between"),
    };
    format!("{what}: nothing was saved; get it, merge, and save again")
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::PolicyTooLong { .. } => {
                Self::Text { line: None, reason: error.to_string() }
            }
            StoreError::PolicyChanged { present, .. } => Self::Changed { present, head: None },
            error => Self::Store(error),
        }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        let message = cut(fault.to_string());
        match fault {
            Fault::Wrong(_) => Self::invalid_argument(message),
            Fault::Text { line, .. } => {
                let mut status = Self::invalid_argument(message);
                if let Some(line) = line {
                    status.metadata_mut().insert(LINE, (line as u64).into());
                }
                status
            }
            Fault::Missing(_) => Self::not_found(message),
            Fault::Changed { present, .. } => {
                let mut status = Self::aborted(message);
                status.metadata_mut().insert(PRESENT, present.into());
                status
            }
            Fault::Full(_) => {
                let mut status = Self::resource_exhausted(message);
                status.metadata_mut().insert(PUSHBACK, COME_AGAIN_MS.into());
                status
            }
            Fault::Replaced => Self::aborted(message),
            Fault::Leaving | Fault::Store(_) => Self::unavailable(message),
        }
    }
}

fn cut(mut message: String) -> String {
    let end = message.char_indices().map(|(at, c)| at + c.len_utf8());
    let fits = end.take_while(|end| *end <= MAX_MESSAGE).last().unwrap_or(0);
    message.truncate(fits);
    message
}
