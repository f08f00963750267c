//! `cargo xtask ci`: all that must hold, the cheap checks first.
//!
//! Tools that are dear to install are used if they are there and named if not.

use anyhow::Result;

use crate::step::{Steps, is_installed, succeed};
use crate::{layers, protoc, test, workspace};

pub(crate) fn run(arguments: &test::Arguments) -> Result<()> {
    let mut steps = Steps::new("ci");
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("layers", layers::run);
    steps.run("no protoc", protoc::check);
    if_installed(&mut steps, "cargo-deny", &["deny", "check", "licenses", "bans", "sources"]);
    if_installed(&mut steps, "cargo-machete", &["machete"]);
    steps.run("clippy", clippy);
    test::run_steps(&mut steps, arguments);
    steps.run("documentation", documentation);
    steps.finish()
}

fn cargo(arguments: &[&str]) -> Result<()> {
    succeed(&mut workspace::cargo(arguments))
}

fn clippy() -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn documentation() -> Result<()> {
    let mut doc = workspace::cargo(&["doc", "--workspace", "--no-deps"]);
    succeed(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

fn if_installed(steps: &mut Steps, program: &str, arguments: &[&str]) {
    if is_installed(program) {
        steps.run(program, || cargo(arguments));
    } else {
        eprintln!("\n== {program} is not installed: skipped (cargo install --locked {program})");
    }
}
