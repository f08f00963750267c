//! `cargo xtask test`: every test of the workspace, the documentation's too.
//!
//! Passes cargo's own output on as it comes and adds up its closing lines.

use std::io::{BufRead, BufReader, Read};
use std::ops::AddAssign;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::step::Steps;
use crate::{packages, workspace};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Install no system packages, even as root
    #[arg(long)]
    no_install: bool,
}

/// What cargo counted, over all test binaries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    binaries: usize,
    passed: usize,
    failed: usize,
    ignored: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::new("test");
    run_steps(&mut steps, arguments);
    steps.finish()
}

/// The steps of the tests, for a longer list of steps.
pub(crate) fn run_steps(steps: &mut Steps, arguments: &Arguments) {
    if !arguments.no_install {
        steps.run("system packages", packages::provide);
    }
    let mut counts = Counts::default();
    steps.run("tests and documentation tests of the whole workspace", || test(&mut counts));
    steps.note(counts.sentence());
}

fn test(counts: &mut Counts) -> Result<()> {
    let mut cargo = workspace::cargo(&["test", "--workspace", "--no-fail-fast"]);
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    if let Some(stdout) = child.stdout.take() {
        pass_on(stdout, counts)?;
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    ensure!(status.success(), "cargo test ended with {status}; {}", counts.sentence());
    Ok(())
}

/// By bytes, not text: a test may print anything.
fn pass_on(output: impl Read, counts: &mut Counts) -> Result<()> {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).context("cannot read what cargo test prints")? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        if let Some(more) = Counts::read(&text) {
            *counts += more;
        }
        line.clear();
    }
    Ok(())
}

impl Counts {
    /// From `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    fn read(line: &str) -> Option<Self> {
        let (_, figures) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut figures = figures.split("; ");
        let mut next = |word: &str| figures.next()?.strip_suffix(word)?.trim().parse().ok();
        let (passed, failed, ignored) = (next("passed")?, next("failed")?, next("ignored")?);
        Some(Self { binaries: 1, passed, failed, ignored })
    }

    fn sentence(&self) -> String {
        let Self { binaries, passed, failed, ignored } = self;
        format!("{passed} tests passed, {failed} failed, {ignored} ignored in {binaries} binaries")
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.binaries += more.binaries;
        self.passed += more.passed;
        self.failed += more.failed;
        self.ignored += more.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up() {
        let output = "\
running 2 tests
test result: ok. 40 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
noise
test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out
";
        let mut counts = Counts::default();
        pass_on(output.as_bytes(), &mut counts).unwrap();
        assert_eq!(counts, Counts { binaries: 2, passed: 42, failed: 3, ignored: 1 });
        assert_eq!(counts.sentence(), "42 tests passed, 3 failed, 1 ignored in 2 binaries");
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(Counts::read("test result: none"), None);
        assert_eq!(Counts::read("test a ... ok"), None);
    }
}
