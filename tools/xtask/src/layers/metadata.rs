//! Reads the workspace: packages from `cargo metadata`, what it does not tell
//! (`workspace = true`) from the manifests, `async fn` from the sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use toml::Table;

use super::model::{Dependency, Import, Kind, Package};
use crate::workspace;

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>> {
    let metadata = metadata()?;
    let root = workspace_root(&metadata)?;
    metadata_packages(&metadata).iter().map(|package| read(package, &root)).collect()
}

/// The manifest of every package.
pub(crate) fn manifests() -> Result<Vec<PathBuf>> {
    metadata_packages(&metadata()?).iter().map(manifest_path).collect()
}

fn metadata() -> Result<Value> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let output = workspace::cargo(&arguments).output().context("cannot start cargo metadata")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {complaint}");
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
}

fn metadata_packages(metadata: &Value) -> &[Value] {
    metadata["packages"].as_array().map_or(&[], Vec::as_slice)
}

fn workspace_root(metadata: &Value) -> Result<PathBuf> {
    let root = metadata["workspace_root"].as_str().context("cargo metadata names no root")?;
    Ok(PathBuf::from(root))
}

fn manifest_path(package: &Value) -> Result<PathBuf> {
    let path = package["manifest_path"].as_str().context("a package without manifest_path")?;
    Ok(PathBuf::from(path))
}

fn read(package: &Value, root: &Path) -> Result<Package> {
    let path = manifest_path(package)?;
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: Table =
        text.parse().with_context(|| format!("cannot understand {}", path.display()))?;
    let folder = path.parent().context("a manifest without a folder")?;
    let code = code(folder)?;
    Ok(Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        folder: folder.strip_prefix(root).unwrap_or(folder).display().to_string(),
        dependencies: dependencies(&manifest),
        workspace_lints: says_workspace(manifest.get("lints")),
        async_functions: async_functions(&code),
        imports: imports(&code),
    })
}

/// Of all platforms.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(toml::Value::as_table);
    std::iter::once(manifest).chain(targets).flat_map(dependencies_of_table).collect()
}

fn dependencies_of_table(table: &Table) -> Vec<Dependency> {
    let kinds = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Build),
        ("dev-dependencies", Kind::Dev),
    ];
    let entries = |(key, kind): (&str, Kind)| {
        let table = table.get(key).and_then(toml::Value::as_table);
        table.into_iter().flatten().map(move |(name, value)| dependency(name, value, kind))
    };
    kinds.into_iter().flat_map(entries).collect()
}

fn dependency(name: &str, value: &toml::Value, kind: Kind) -> Dependency {
    Dependency { name: name.to_owned(), kind, from_workspace: says_workspace(Some(value)) }
}

fn says_workspace(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

/// The lines of code of a package's sources, each with its place; comments are
/// left out.
fn code(package: &Path) -> Result<Vec<(String, String)>> {
    let mut code = Vec::new();
    for file in sources(&package.join("src"))? {
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(package).unwrap_or(&file).display().to_string();
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
        code.extend(lines.map(|(line, number)| (format!("{name}:{number}"), line.to_owned())));
    }
    Ok(code)
}

fn async_functions(code: &[(String, String)]) -> Vec<String> {
    let found = code.iter().filter(|(_, line)| line.contains("async fn"));
    found.map(|(place, _)| place.clone()).collect()
}

fn imports(code: &[(String, String)]) -> Vec<Import> {
    code.iter().flat_map(|(place, line)| imports_of_line(place, line)).collect()
}

/// Every `plimsoll_name::module` of a line.
fn imports_of_line(place: &str, line: &str) -> Vec<Import> {
    let word = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        (text[..end].to_owned(), text[end..].to_owned())
    };
    let mentions = line.split("plimsoll_").skip(1).map(|mention| {
        let (name, rest) = word(mention);
        let (module, _) = word(rest.trim_start_matches(':'));
        let package = format!("plimsoll-{}", name.replace('_', "-"));
        Import { package, module, place: place.to_owned() }
    });
    mentions.collect()
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_table_are_read() {
        let manifest: Table = "\
[dependencies]
serde.workspace = true
tokio = { workspace = true, features = [\"fs\"] }
rand = \"0.10\"
[build-dependencies]
prost.workspace = true
[target.'cfg(unix)'.dev-dependencies]
libc = { version = \"1\" }
"
        .parse()
        .unwrap();
        let read: Vec<_> = dependencies(&manifest)
            .into_iter()
            .map(|it| (it.name, it.kind, it.from_workspace))
            .collect();
        let expected = [
            ("rand", Kind::Normal, false),
            ("serde", Kind::Normal, true),
            ("tokio", Kind::Normal, true),
            ("prost", Kind::Build, true),
            ("libc", Kind::Dev, false),
        ]
        .map(|(name, kind, from_workspace)| (name.to_owned(), kind, from_workspace));
        assert_eq!(read, expected);
    }

    #[test]
    fn every_mention_of_a_package_of_ours_is_found() {
        let found = imports_of_line("src/lib.rs:1", "use plimsoll_placement::time::Time;");
        let import = |module: &str| Import {
            package: "plimsoll-placement".to_owned(),
            module: module.to_owned(),
            place: "src/lib.rs:1".to_owned(),
        };
        assert_eq!(found, [import("time")]);
        let found = imports_of_line("src/lib.rs:1", "use plimsoll_placement::{plan, time};");
        assert_eq!(found, [import("")]);
        assert_eq!(imports_of_line("src/lib.rs:1", "use std::fmt;"), []);
    }

    #[test]
    fn comments_are_no_code() {
        let folder = std::env::temp_dir().join(format!("xtask-layers-{}", std::process::id()));
        fs::create_dir_all(folder.join("src/deep")).unwrap();
        let source = "// async fn a() {}\npub async fn b() {}\n/// `async fn`\nfn c() {}\n";
        fs::write(folder.join("src/deep/lib.rs"), source).unwrap();
        let code = code(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(async_functions(&code), ["src/deep/lib.rs:2"]);
    }
}
