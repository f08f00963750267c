//! Logs: one line an event, values as fields, as text for people or JSON for
//! machines, always to standard error since standard output is for data.
//!
//! What is logged can be changed while the process runs; how it is written cannot.

use std::io::{self, IsTerminal};
use std::str::FromStr;
use std::sync::OnceLock;

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::layer as lines;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// Changes the filter of the process.
static CONTROL: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Why logging could not be set up or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0:?} is not a log format: it must be text or json")]
    Format(String),
    #[error("the log filter {filter:?} cannot be read: {source}")]
    Filter { filter: String, source: ParseError },
    #[error("logging is set up already")]
    Twice,
    #[error("logging is not set up by this program: its filter cannot be changed here")]
    NotOurs,
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
    let (filter, control) = reload::Layer::new(read(filter)?);
    let lines = lines().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let lines = match format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let set = tracing_subscriber::registry().with(filter).with(lines).try_init();
    set.map_err(|_| Error::Twice)?;
    CONTROL.set(control).map_err(|_| Error::Twice)
}

/// The filter in force, in the order in which it is looked at.
///
/// # Errors
/// [`init`] was not called.
pub fn filter() -> Result<String, Error> {
    let control = CONTROL.get().ok_or(Error::NotOurs)?;
    control.with_current(ToString::to_string).map_err(|_| Error::NotOurs)
}

/// Replaces the filter of the whole process, until it ends or this is called again.
///
/// # Errors
/// The filter cannot be read: the one before stays. Or [`init`] was not called.
pub fn set_filter(filter: &str) -> Result<(), Error> {
    let control = CONTROL.get().ok_or(Error::NotOurs)?;
    control.reload(read(filter)?).map_err(|_| Error::NotOurs)
}

fn read(filter: &str) -> Result<EnvFilter, Error> {
    EnvFilter::try_new(filter).map_err(|source| Error::Filter { filter: filter.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, since all of it is of the process.
    #[test]
    fn what_is_logged_changes_while_the_process_runs() {
        assert!(matches!(set_filter("info"), Err(Error::NotOurs)));
        init(Format::Json, "info").unwrap();
        assert!(matches!(init(Format::Text, "info"), Err(Error::Twice)));
        let is_on = || tracing::enabled!(target: "orders", tracing::Level::DEBUG);
        assert!(!is_on());
        set_filter("info,orders=debug").unwrap();
        assert!(is_on());
        assert!(!tracing::enabled!(target: "h2", tracing::Level::DEBUG));
        let error = set_filter("info,orders=chatty").unwrap_err().to_string();
        assert!(error.contains("orders=chatty"), "{error}");
        assert_eq!(filter().unwrap(), "orders=debug,info");
        set_filter("warn").unwrap();
        assert!(!is_on());
    }
}
