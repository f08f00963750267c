//! docs/metrics.md is written from what running parts expose: a server, executors, a
//! spectator, and a proxy with QALM in it. `UPDATE=1 cargo test -p plimsoll-testkit
//! --test metrics` writes it anew; without, this fails if it is not what they expose,
//! or if a metric that the sources name was not seen.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

mod page;
mod scene;
mod seen;
mod sources;
mod uses;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_testkit::SOON;

use crate::scene::Scene;
use crate::seen::Seen;
use crate::uses::Uses;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Reads pages until every metric of the sources was on one.
async fn all_metrics(scene: &Scene) -> BTreeMap<String, Seen> {
    let named = sources::names(&root());
    let mut metrics = BTreeMap::new();
    let complete = async {
        loop {
            scene.pages().await.iter().for_each(|page| seen::read(page, &mut metrics));
            if named.iter().all(|name| metrics.contains_key(name)) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let done = tokio::time::timeout(SOON, complete).await;
    let missing: Vec<_> = named.iter().filter(|name| !metrics.contains_key(*name)).collect();
    assert!(done.is_ok(), "no page has {missing:?}: have scene.rs bring it about");
    let unnamed: Vec<_> = metrics.keys().filter(|name| !sources::knows(&named, name)).collect();
    assert!(unnamed.is_empty(), "{unnamed:?} is not found in the sources: see sources.rs");
    metrics
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_every_metric_as_it_is_exposed() {
    let scene = Scene::start().await.unwrap();
    let metrics = all_metrics(&scene).await;
    let uses = Uses::read(&root(), metrics.keys().map(String::as_str));
    let written = page::write(&metrics, &uses);
    let path = root().join("docs/metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    let differs = |(is, should): &(&str, &str)| is != should;
    let first = stands.lines().zip(written.lines()).find(differs);
    assert!(
        stands == written,
        "docs/metrics.md is not what is exposed: UPDATE=1 cargo test -p plimsoll-testkit --test \
         metrics writes it anew.\nThe first difference, as it stands and as it should: {first:#?}"
    );
}

#[test]
fn names_are_found_where_metrics_are_registered() {
    let named = sources::names(&root());
    for name in ["plimsoll_unowned_shards", "qalm_requests", "plimsoll_executor_connected"] {
        assert!(named.contains(name), "{name} is not among {named:?}");
    }
}
