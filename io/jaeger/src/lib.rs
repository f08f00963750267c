//! Jaeger's traces as calls that a first policy can be proposed from: read from its
//! query API or from a file that was saved from it.
//!
//! It judges nothing: what a call is named and what level it gets is decided in
//! `plimsoll_shedding::proposal`. Everything is bounded: answers, spans, time.

mod calls;
mod client;
mod error;
mod trace;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plimsoll_shedding::proposal::Observed;

pub use calls::{Counted, count};
pub use client::{Jaeger, Lookup};
pub use error::JaegerError;
pub use trace::{Trace, parse};

/// The longest answer or file that is read, in bytes.
pub const MAX_BYTES: u64 = 256 << 20;

/// The calls of a file as Jaeger's page and its API save it: one trace or many.
///
/// # Errors
/// A file that cannot be read, is too long, or is no such JSON.
pub fn read(path: &Path, observed: &mut Observed) -> Result<Counted, JaegerError> {
    let failed = |why: String| JaegerError::Read { path: path.to_owned(), why };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut text = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it is longer than {MAX_BYTES} bytes; save fewer traces")));
    }
    let traces = parse(&text).map_err(failed)?;
    Ok(count(&traces, observed))
}
