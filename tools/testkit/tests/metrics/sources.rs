//! The names of metrics that the sources have: string literals that are such a name
//! and nothing else. What is put together at run time is not among them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What every metric of ours begins with.
pub(crate) const FAMILIES: [&str; 3] = ["shard_distributor_", "plimsoll_", "qalm_"];
/// Where metrics can be.
const ROOMS: [&str; 3] = ["app", "io", "sdk"];
/// What the proxy puts together from a word and this.
const OPENERS: &str = "plimsoll_proxy_";

/// Every name in the sources of what is delivered.
pub(crate) fn names(root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for room in ROOMS {
        for package in fs::read_dir(root.join(room)).unwrap() {
            walk(&package.unwrap().path().join("src"), &mut names);
        }
    }
    names
}

/// Whether the name is in the sources, whole or put together there.
pub(crate) fn knows(named: &BTreeSet<String>, name: &str) -> bool {
    named.contains(name) || name.starts_with(OPENERS)
}

fn walk(folder: &Path, names: &mut BTreeSet<String>) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files {
        let path = file.unwrap().path();
        if path.is_dir() {
            walk(&path, names);
        } else if path.extension().is_some_and(|it| it == "rs") {
            names.extend(literals(&fs::read_to_string(&path).unwrap()));
        }
    }
}

fn literals(source: &str) -> impl Iterator<Item = String> {
    let is_name = |text: &&str| {
        let word = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
        text.bytes().all(word)
            && FAMILIES.iter().any(|it| text.len() > it.len() && text.starts_with(it))
    };
    source.split('"').filter(is_name).map(str::to_owned)
}
