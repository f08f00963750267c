//! Logs: one line an event, values as fields, as text for people or JSON for
//! machines, always to standard error since standard output is for data.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0:?} is not a log format: it must be text or json")]
    Format(String),
    #[error("the log filter {filter:?} cannot be read: {source}")]
    Filter { filter: String, source: ParseError },
    #[error("logging is set up already")]
    Twice,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            other => Err(Error::Format(other.to_owned())),
        }
    }
}

/// Sets up logging for the process. `filter` is as in `RUST_LOG`: a level, or
/// levels by module, e.g. `info,plimsoll_server=debug`.
///
/// # Errors
/// The filter cannot be read, or logging is set up already.
pub fn init(format: Format, filter: &str) -> Result<(), Error> {
    let env_filter = EnvFilter::try_new(filter)
        .map_err(|source| Error::Filter { filter: filter.to_owned(), source })?;
    let lines = tracing_subscriber::fmt().with_env_filter(env_filter).with_writer(io::stderr);
    let lines = lines.with_ansi(io::stderr().is_terminal());
    let done = match format {
        Format::Text => lines.try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    done.map_err(|_| Error::Twice)
}
