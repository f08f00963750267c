//! Why a load test could not start. Once it runs, everything else is a figure.

use std::path::PathBuf;

/// Why a load test could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// Nobody answered at the target.
    #[error("cannot connect to {target}: {why}; {advice}")]
    Unreachable {
        /// Scheme, host and port.
        target: String,
        /// What the system said.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// A file of the plan could not be read.
    #[error("cannot read {}: {source}; check the path and its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The service's description could not be had.
    #[error("cannot learn {method} from {from}: {why}; {advice}")]
    Schema {
        /// The gRPC method.
        method: String,
        /// Reflection at a target, or a file.
        from: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The JSON body does not fit the method's request.
    #[error("the body is no {message}: {why}; write it as the JSON form of that message")]
    Body {
        /// Full name of the protobuf message.
        message: String,
        /// What the parser said.
        why: String,
    },
    /// The machine would not start a thread.
    #[error("cannot start the pacing thread: {0}; free some threads and run again")]
    Thread(std::io::Error),
}

/// An error with its causes in one line, each told once.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = error.source();
    }
    told
}
