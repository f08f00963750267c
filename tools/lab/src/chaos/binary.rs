//! The `plimsoll` binary beside this program: built first, since a run of
//! yesterday's binary tells nothing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(super) fn build() -> Result<PathBuf> {
    let lab = std::env::current_exe().context("where is this program?")?;
    let profile = lab.parent().context("this program is in no folder")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--package", "plimsoll"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    // Build scripts (ring's) depend on what cargo says of the package that it
    // runs: this one's would have half the workspace built anew.
    let of_this_package =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| of_this_package(name)) {
        cargo.env_remove(name);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.output().context("cannot start cargo")?;
    ensure!(built.status.success(), "no plimsoll: {}", String::from_utf8_lossy(&built.stderr));
    Ok(profile.join("plimsoll"))
}
