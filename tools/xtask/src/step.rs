//! Steps with a heading each, all run even if one fails, and one line at the
//! end that says how it went.
//!
//! Headings and the last line go to stderr; stdout is left to the tools.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// What has been run so far.
pub(crate) struct Steps {
    name: &'static str,
    start: Instant,
    passed: usize,
    failed: Vec<String>,
    notes: Vec<String>,
}

impl Steps {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, start: Instant::now(), passed: 0, failed: Vec::new(), notes: Vec::new() }
    }

    /// Runs a step; its failure is remembered and told.
    pub(crate) fn run(&mut self, heading: &str, step: impl FnOnce() -> Result<()>) {
        eprintln!("\n== {heading}");
        match step() {
            Ok(()) => self.passed += 1,
            Err(error) => {
                eprintln!("== {heading} FAILED: {error:#}");
                self.failed.push(heading.to_owned());
            }
        }
    }

    /// Something for the last line, e.g. how many tests ran.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Prints the last line; an error if any step failed.
    pub(crate) fn finish(self) -> Result<()> {
        eprintln!("\n{}", self.summary());
        ensure!(self.failed.is_empty(), "{} failed", self.failed.join(", "));
        Ok(())
    }

    fn summary(&self) -> String {
        let verdict = if self.failed.is_empty() { "ok" } else { "FAILED" };
        let steps = self.passed + self.failed.len();
        let counts = format!("{} of {steps} steps passed", self.passed);
        let mut parts = vec![counts];
        parts.extend(self.notes.iter().cloned());
        parts.push(minutes(self.start.elapsed()));
        format!("xtask {}: {verdict}: {}", self.name, parts.join(", "))
    }
}

fn minutes(duration: Duration) -> String {
    format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60)
}

/// Runs a program to its end; an error if it cannot start or does not succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    let status = command.status().with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("{line} ended with {status}");
    }
    Ok(())
}

/// As it would be typed, without the folder of the program.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words = std::iter::once(program.file_name().unwrap_or_default()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Whether a program is on the path.
pub(crate) fn is_installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_does_not_stop_the_rest_but_is_remembered() {
        let mut steps = Steps::new("test");
        let mut reached = false;
        steps.run("first", || bail!("broken"));
        steps.run("second", || {
            reached = true;
            Ok(())
        });
        steps.note("3 tests".to_owned());
        assert!(reached);
        assert_eq!(steps.summary(), "xtask test: FAILED: 1 of 2 steps passed, 3 tests, 0 min 0 s");
        assert_eq!(steps.finish().unwrap_err().to_string(), "first failed");
    }

    #[test]
    fn a_failed_program_is_named_as_typed() {
        let error = succeed(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3 ended with exit status: 3");
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_installed() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }
}
