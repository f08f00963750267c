//! Debian packages that some tests use: installed if we may, named otherwise.
//!
//! Never an error: tests that need one say so themselves when it is missing.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::step::{is_installed, succeed};

/// Programs, the package of each, and what for.
const WANTED: [(&str, &str, &str); 3] = [
    ("etcd", "etcd-server", "tests of the etcd store"),
    ("chromium", "chromium", "tests of the console"),
    ("promtool", "prometheus", "tests of the alert rules"),
];

/// Installs what is missing, or says what to install.
pub(crate) fn provide() -> Result<()> {
    let missing: Vec<_> =
        WANTED.into_iter().filter(|(program, ..)| !is_installed(program)).collect();
    if missing.is_empty() {
        eprintln!("everything that tests use is installed");
    } else if is_root() && is_installed("apt-get") {
        update_lists();
        missing.iter().for_each(|(_, package, purpose)| install(package, purpose));
    } else {
        missing.iter().for_each(|(program, package, purpose)| advise(program, package, purpose));
    }
    Ok(())
}

fn advise(program: &str, package: &str, purpose: &str) {
    eprintln!("note: {program} is not installed; {purpose} need it: apt-get install {package}");
}

fn update_lists() {
    if let Err(error) = succeed(apt_get().arg("update")) {
        eprintln!("note: package lists are as old as they were: {error:#}");
    }
}

fn install(package: &str, purpose: &str) {
    eprintln!("installing {package} for {purpose}");
    let install = ["install", "--yes", "--no-install-recommends", package];
    if let Err(error) = succeed(apt_get().args(install)) {
        eprintln!("note: going on without {package}, for {purpose}: {error:#}");
    }
}

/// Quiet, never asking anything, and soon done where there is no network.
fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-qq", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1"]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
