//! What the processes of a run write down, one line of JSON each. A line is
//! written by one call of the kernel: what a process said before it was killed is
//! there, but for the half line that it was killed in.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use plimsoll_testkit::chaos::Moment;
use serde::{Deserialize, Serialize};

/// The cause of a request that was refused because an operator wants it so.
pub(super) const DRAINED: &str = "drained";

/// One line. Shards are written with their namespace: `orders/12`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub(super) enum Entry {
    /// The executor process begins.
    Up { at: Moment },
    /// The application is told to run a shard.
    Started { at: Moment, shard: String, generation: u64 },
    /// The application has ended it.
    Stopped { at: Moment, shard: String, generation: u64 },
    /// Asked between these two moments, the executor said that it owns just these.
    Owns { from: Moment, to: Moment, shards: Vec<(String, u64)> },
    /// The executor heard of no server for as long as its lease in a namespace.
    LeaseEnded { at: Moment },
    /// The process itself did not run between these two moments.
    Stalled { from: Moment, to: Moment },
    /// The request that was due then was answered by an executor that owned the
    /// shard at some instant between `from` and `to`.
    Answered {
        due: Moment,
        shard: String,
        executor: String,
        generation: u64,
        from: Moment,
        to: Moment,
    },
    /// The request that was due then was not answered.
    Lost { due: Moment, shard: String, cause: String },
}

/// A file of entries.
#[derive(Debug)]
pub(super) struct Log {
    file: Mutex<File>,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        // After the half line of a process that was killed.
        file.write_all(b"\n")?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// # Panics
    /// The disk is full: a run without its record proves nothing.
    pub(super) fn append(&self, entry: &Entry) {
        let written =
            serde_json::to_vec(entry).map_err(std::io::Error::from).and_then(|mut line| {
                line.push(b'\n');
                self.file.lock().write_all(&line)
            });
        assert!(written.is_ok(), "the record cannot be written: {written:?}");
    }
}
