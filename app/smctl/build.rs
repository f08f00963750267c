//! Tells `smctl --version` the commit it was built from.
//!
//! Asks git and accepts any failure: a source archive without git still builds,
//! its version then says `unknown`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for file in ["HEAD", "logs/HEAD"] {
        rebuild_when_it_changes(file);
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=SMCTL_COMMIT={commit}");
}

/// Names only files that exist: cargo takes a missing one for always changed.
fn rebuild_when_it_changes(git_file: &str) {
    if let Some(path) = git(&["rev-parse", "--git-path", git_file])
        && Path::new(&path).exists()
    {
        println!("cargo:rerun-if-changed={path}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
