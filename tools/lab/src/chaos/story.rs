//! What was done to the system and when, told while it happens and kept in the
//! folder of the run.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Result;
use parking_lot::Mutex;
use plimsoll_testkit::chaos::Moment;

#[derive(Debug)]
pub(super) struct Story {
    began: Moment,
    told: Mutex<Vec<String>>,
}

impl Story {
    pub(super) fn new() -> Self {
        Self { began: Moment::now(), told: Mutex::default() }
    }

    /// Tells something that happens now.
    pub(super) fn tell(&self, what: &str) {
        self.tell_of(Moment::now(), what);
    }

    /// Tells something that happened then.
    pub(super) fn tell_of(&self, at: Moment, what: &str) {
        let line = format!("{:8.3} s  {what}", self.seconds(at));
        eprintln!("{line}");
        self.told.lock().push(line);
    }

    /// Tells how it goes, which is of no interest later: on a terminal, the next
    /// line overwrites it.
    pub(super) fn progress(&self, what: &str) {
        let end = if std::io::stderr().is_terminal() { '\r' } else { '\n' };
        eprint!("{:8.3} s  {what}{end}", self.seconds(Moment::now()));
    }

    /// Since it began.
    pub(super) fn seconds(&self, at: Moment) -> f64 {
        (at - self.began).as_secs_f64()
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        Ok(std::fs::write(path, self.told.lock().join("\n") + "\n")?)
    }
}
