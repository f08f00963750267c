//! `cargo xtask layers`: the shape of the workspace, checked.
//!
//! Storeys are the first folders: core, io, sdk, app, then tools and examples.
//! Arrows only point down, the cores stay pure, and the families that share
//! nothing but the roof meet nowhere below app and sdk.

mod metadata;
mod model;
mod rules;

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Fails with one line a violation.
pub(crate) fn run() -> Result<()> {
    let packages = metadata::packages()?;
    let violations = rules::violations(&packages);
    if violations.is_empty() {
        eprintln!("{} packages keep to their storeys", packages.len());
        return Ok(());
    }
    bail!("{} violations:\n  {}", violations.len(), violations.join("\n  "))
}

/// The manifest of every package of the workspace.
pub(crate) fn manifests() -> Result<Vec<PathBuf>> {
    metadata::manifests()
}
