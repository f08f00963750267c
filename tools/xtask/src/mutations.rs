//! `cargo xtask mutations`: do the tests find faults? Each fault of
//! `tools/xtask/mutations.toml` is put alone into a copy of the sources, and its
//! test must fail there, having passed before.
//!
//! Nothing is changed in the tree; the copy and what is built of it are below
//! `target/mutations`.

mod copy;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::workspace;

const LIST: &str = "tools/xtask/mutations.toml";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Only mutations whose names contain this
    #[arg(default_value = "")]
    only: String,
    /// Where the copy is built, e.g. where its dependencies are built already
    #[arg(long, value_name = "FOLDER")]
    target_dir: Option<PathBuf>,
}

/// One fault, and the test that is to find it.
#[derive(Debug)]
struct Mutation {
    name: String,
    file: PathBuf,
    find: String,
    replace: String,
    package: String,
    test: Vec<String>,
}

/// The copy of the sources, and where it is built.
struct Site {
    sources: PathBuf,
    target: PathBuf,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    Caught,
    Missed,
    /// It does not compile: no fault that anybody could make.
    Impossible,
}

/// Fails if a fault is not found, or can not be put in.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace::root();
    let mutations = read(&root.join(LIST))?;
    let chosen: Vec<_> = mutations.iter().filter(|it| it.name.contains(&arguments.only)).collect();
    ensure!(!chosen.is_empty(), "no mutation's name contains {:?}", arguments.only);
    let base = root.join("target/mutations");
    let target = arguments.target_dir.clone().unwrap_or_else(|| base.join("target"));
    let site = Site { sources: base.join("sources"), target };
    copy::workspace(&root, &site.sources)?;
    for mutation in &chosen {
        let passes = site.test(mutation, &[])?;
        ensure!(passes, "the test of {:?} fails without the fault, too", mutation.name);
    }
    let mut failed = 0;
    for mutation in chosen {
        let outcome = site.try_one(mutation)?;
        failed += usize::from(outcome != Outcome::Caught);
        println!("{:<11} {} ({})", outcome.as_str(), mutation.name, mutation.test.join(" "));
    }
    ensure!(failed == 0, "{failed} mutations were not caught");
    Ok(())
}

impl Site {
    fn try_one(&self, mutation: &Mutation) -> Result<Outcome> {
        let file = self.sources.join(&mutation.file);
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let mutated = mutation.apply(&text)?;
        std::fs::write(&file, mutated)?;
        let outcome = self.outcome(mutation);
        std::fs::write(&file, text)?;
        outcome
    }

    fn outcome(&self, mutation: &Mutation) -> Result<Outcome> {
        Ok(match self.test(mutation, &["--no-run"])? {
            false => Outcome::Impossible,
            true if self.test(mutation, &[])? => Outcome::Missed,
            true => Outcome::Caught,
        })
    }

    /// Whether the mutation's test passes; with `--no-run`, whether it builds.
    fn test(&self, mutation: &Mutation, more: &[&str]) -> Result<bool> {
        let package = mutation.package.as_str();
        let mut cargo = workspace::cargo(&["test", "--quiet", "--offline", "--package", package]);
        cargo.current_dir(&self.sources).env("CARGO_TARGET_DIR", &self.target);
        cargo.args(more).args(&mutation.test);
        cargo.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(cargo.status().context("cargo does not start")?.success())
    }
}

impl Mutation {
    /// The text with the fault in it.
    fn apply(&self, text: &str) -> Result<String> {
        let found = text.matches(&self.find).count();
        ensure!(
            found == 1,
            "{:?}: its text stands {found} times in {}, not once: bring {LIST} up to date",
            self.name,
            self.file.display()
        );
        Ok(text.replacen(&self.find, &self.replace, 1))
    }
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Missed => "MISSED",
            Self::Impossible => "IMPOSSIBLE",
        }
    }
}

fn read(path: &Path) -> Result<Vec<Mutation>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Mutation>> {
    let table: toml::Table = text.parse().context(LIST)?;
    let Some(list) = table.get("mutation").and_then(toml::Value::as_array) else {
        bail!("{LIST} has no [[mutation]]");
    };
    list.iter().map(mutation).collect()
}

fn mutation(entry: &toml::Value) -> Result<Mutation> {
    let text = |key: &str| {
        let value = entry.get(key).and_then(toml::Value::as_str);
        value.map(str::to_owned).with_context(|| format!("a mutation of {LIST} lacks {key:?}"))
    };
    let test = entry.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    Ok(Mutation {
        name: text("name")?,
        file: text("file")?.into(),
        find: text("find")?,
        replace: text("replace")?,
        package: text("package")?,
        test: test.filter_map(toml::Value::as_str).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_of_the_list_can_be_put_into_the_sources_as_they_are() {
        let root = workspace::root();
        let mutations = read(&root.join(LIST)).unwrap();
        assert!(mutations.len() >= 15, "{} are too few", mutations.len());
        for mutation in mutations {
            let text = std::fs::read_to_string(root.join(&mutation.file)).unwrap();
            let mutated = mutation.apply(&text).unwrap();
            assert_ne!(mutated, text, "{}", mutation.name);
            assert!(!mutation.test.is_empty(), "{} names no test", mutation.name);
        }
    }

    #[test]
    fn a_text_that_is_no_longer_there_is_named() {
        let list = "[[mutation]]\nname = \"n\"\nfile = \"f\"\nfind = \"a\"\nreplace = \"b\"\n\
                    package = \"p\"\ntest = [\"--lib\"]";
        let mutation = parse(list).unwrap().remove(0);
        assert_eq!(mutation.apply("xax").unwrap(), "xbx");
        let error = mutation.apply("x").unwrap_err().to_string();
        assert!(error.contains("stands 0 times in f"), "{error}");
    }
}
