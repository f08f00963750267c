//! Nothing here needs protoc, cmake or a vendored copy of either: a newcomer
//! builds with a Rust toolchain and nothing else.
//!
//! Reads Cargo.lock and the build scripts instead of building without a PATH,
//! which would show the same for far more time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{layers, workspace};

/// Packages that run or build such a compiler.
const PACKAGES: [&str; 6] =
    ["cmake", "protobuf-src", "protoc-bin-vendored", "protoc-prebuilt", "protoc-rust", "autotools"];

/// What a build script that runs protoc says somewhere.
const CALLS: [&str; 4] = ["compile_protos", "\"protoc\"", "PROTOC", "protoc_executable"];

pub(crate) fn check() -> Result<()> {
    let root = workspace::root();
    let lock = root.join("Cargo.lock");
    let text =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let mut findings = packages(&text);
    for script in build_scripts()? {
        let text = fs::read_to_string(&script)
            .with_context(|| format!("cannot read {}", script.display()))?;
        let name = script.strip_prefix(&root).unwrap_or(&script).display().to_string();
        findings.extend(calls(&name, &text));
    }
    report(&findings)
}

fn report(findings: &[String]) -> Result<()> {
    if findings.is_empty() {
        eprintln!("no build script and no package in Cargo.lock needs protoc or cmake");
        return Ok(());
    }
    bail!("{}", findings.join("\n"))
}

fn build_scripts() -> Result<Vec<PathBuf>> {
    let manifests = layers::manifests()?;
    let scripts = manifests.iter().filter_map(|manifest| manifest.parent());
    Ok(scripts
        .map(|folder| folder.join("build.rs"))
        .filter(|script| Path::is_file(script))
        .collect())
}

fn packages(lock: &str) -> Vec<String> {
    let named = |line: &&str| PACKAGES.iter().any(|name| *line == format!("name = \"{name}\""));
    let found = lock.lines().filter(named);
    found.map(|line| format!("Cargo.lock: {line}: building it needs protoc or cmake")).collect()
}

fn calls(name: &str, script: &str) -> Vec<String> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let calls = |line: &&str| CALLS.iter().any(|call| line.contains(call));
    let found = script.lines().filter(code).filter(calls);
    found.map(|line| format!("{name}: `{}` needs protoc: use protox", line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_script_that_calls_protoc_is_found() {
        let script = "//! Needs no \"protoc\".\nfn main() {\n    config.compile_protos(&[]);\n}\n";
        let found = calls("io/wire/build.rs", script);
        assert_eq!(
            found,
            ["io/wire/build.rs: `config.compile_protos(&[]);` needs protoc: use protox"]
        );
    }

    #[test]
    fn a_package_that_builds_protoc_is_found() {
        let lock = "[[package]]\nname = \"protobuf-src\"\n[[package]]\nname = \"prost\"\n";
        assert_eq!(packages(lock).len(), 1);
    }
}
