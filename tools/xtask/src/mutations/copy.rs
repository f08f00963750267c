//! A copy of the sources of the workspace. Files that have not changed keep their
//! times, so that cargo builds only what has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What is built, or is none of cargo's business.
const NOT: [&str; 2] = ["target", ".git"];

/// Makes `to` the same as `from`.
pub(super) fn workspace(from: &Path, to: &Path) -> Result<()> {
    folder(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut kept = BTreeSet::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if NOT.iter().any(|not| name == *not) {
            continue;
        }
        kept.insert(name.clone());
        match kind.is_dir() {
            true => folder(&entry.path(), &to.join(name))?,
            false if kind.is_file() => file(&entry.path(), &to.join(name))?,
            false => {}
        }
    }
    remove_others(to, &kept)
}

fn file(from: &Path, to: &Path) -> Result<()> {
    let text = fs::read(from)?;
    if fs::read(to).ok().as_ref() != Some(&text) {
        fs::write(to, text)?;
    }
    Ok(())
}

fn remove_others(folder: &Path, kept: &BTreeSet<std::ffi::OsString>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            _ if kept.contains(&entry.file_name()) => {}
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
