//! Where snapshots come from: a folder of files, or formulas with a seed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use plimsoll_placement::snapshot::Snapshot;
use plimsoll_placement::snapshot::generate::{Size, generate, names};

/// Where snapshots are looked for if no folder is named.
const FOLDERS: [&str; 2] = ["../shared/data/snapshots", "/work/shared/data/snapshots"];

/// Which snapshots an experiment runs on.
#[derive(Args, Clone, Debug, Default)]
pub struct Source {
    /// Folder with one CSV file a snapshot; without it
    /// ../shared/data/snapshots, and if that is not there, generated ones
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Only snapshots of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Snapshots from formulas with this seed instead of files
    #[arg(long, value_name = "SEED")]
    pub generate: Option<u64>,
}

/// A snapshot and its name.
#[derive(Clone, Debug)]
pub struct Named {
    pub name: String,
    pub snapshot: Snapshot,
}

impl Source {
    /// The snapshots, in order of name.
    ///
    /// # Errors
    ///
    /// A file cannot be read or is no snapshot, or there is none of these names.
    pub fn load(&self) -> Result<Vec<Named>> {
        let mut all = match (self.generate, self.folder()) {
            (Some(seed), _) => generated(seed)?,
            (None, Some(folder)) => read(&folder)?,
            (None, None) => generated(1)?,
        };
        if !self.only.is_empty() {
            all.retain(|it| self.only.contains(&it.name));
        }
        ensure!(!all.is_empty(), "no snapshot is called {}: see --dir", self.only.join(" or "));
        Ok(all)
    }

    fn folder(&self) -> Option<PathBuf> {
        let usual = || FOLDERS.into_iter().map(PathBuf::from).find(|folder| folder.is_dir());
        self.dir.clone().or_else(usual)
    }
}

fn generated(seed: u64) -> Result<Vec<Named>> {
    let named = |name: &str| {
        let snapshot = generate(name, seed, Size::default())?;
        Ok(Named { name: name.into(), snapshot })
    };
    names().into_iter().map(named).collect()
}

fn read(folder: &Path) -> Result<Vec<Named>> {
    let cannot = || format!("cannot read the folder {}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|it| it == "csv") {
            paths.push(path);
        }
    }
    paths.sort();
    ensure!(!paths.is_empty(), "no .csv file in {}", folder.display());
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<Named> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let snapshot = Snapshot::parse(&text).with_context(|| path.display().to_string())?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Named { name: name.unwrap_or_default(), snapshot })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_generates_every_recipe() {
        let source = Source { generate: Some(3), ..Source::default() };
        let names: Vec<String> = source.load().unwrap().into_iter().map(|it| it.name).collect();
        assert!(names.len() >= 9 && names.contains(&"few-coarse".into()), "{names:?}");
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error() {
        let source =
            Source { generate: Some(3), only: vec!["nowhere".into()], ..Source::default() };
        let message = source.load().unwrap_err().to_string();
        assert_eq!(message, "no snapshot is called nowhere: see --dir");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_name() {
        let source = Source { dir: Some("/no/such/folder".into()), ..Source::default() };
        assert!(source.load().unwrap_err().to_string().contains("/no/such/folder"));
    }
}
