//! Batches beyond what one transaction may hold.

use std::sync::Arc;

use plimsoll_store::record::Write;
use plimsoll_store::{EtcdStore, Store};

use super::{Prefix, grant, orders};

/// As many grants as there are shards, all of one generation.
fn sweep(shards: usize, generation: u64) -> Vec<Write> {
    (0..shards).map(|shard| grant(&format!("{shard:06}"), generation)).collect()
}

async fn generations(store: &EtcdStore) -> Vec<u64> {
    let stored = store.load("orders").await.unwrap();
    let mut all: Vec<u64> = stored.grants.iter().map(|(_, grant)| grant.generation).collect();
    all.dedup();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_can_begin_with_many_grants() {
    let store = Prefix::fresh().store().await;
    store.create(orders(), sweep(10_000, 1)).await.unwrap();
    assert_eq!(store.load("orders").await.unwrap().grants.len(), 10_000);
    assert!(store.create(orders(), sweep(10_000, 2)).await.is_err());
    assert_eq!(generations(&store).await, [1]);
}

/// A writer that is stopped anywhere within a large batch: who leads next finds it
/// whole or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_whole_or_absent_wherever_its_writer_dies() {
    let prefix = Prefix::fresh();
    let store = prefix.store().await;
    store.create(orders(), sweep(1500, 1)).await.unwrap();
    let mut seen = [0, 0];
    for round in 2..22 {
        let before = generations(&store).await;
        let writer = writer_that_dies(&prefix, round).await;
        let after = generations(&store).await;
        assert!(after == before || after == [round], "{before:?} -> {after:?}");
        seen[usize::from(after == [round])] += 1;
        drop(writer);
    }
    assert!(seen[0] > 0 && seen[1] > 0, "deaths before and after the mark: {seen:?}");
}

/// Its runtime goes away within the batch, later in each round.
async fn writer_that_dies(prefix: &Prefix, round: u64) -> Arc<()> {
    let prefix = Prefix(prefix.0.clone());
    let died = Arc::new(());
    let sign = died.clone();
    let life = std::time::Duration::from_millis(3 * (round - 1));
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let store = prefix.store().await;
            let epoch = store.lead("orders").await.unwrap();
            let commit = store.commit("orders", epoch, sweep(1500, round));
            let _ = tokio::time::timeout(life, commit).await;
        });
        runtime.shutdown_background();
        drop(sign);
    })
    .await
    .unwrap();
    died
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_shards_on_a_thousand_executors_are_kept() {
    let store = Prefix::fresh().store().await;
    store.create(orders(), Vec::new()).await.unwrap();
    let epoch = store.lead("orders").await.unwrap();
    let all: Vec<Write> = (0..100_000_u64).map(|shard| grant(&shard.to_string(), shard)).collect();
    store.commit("orders", epoch, all).await.unwrap();
    assert_eq!(store.load("orders").await.unwrap().grants.len(), 100_000);
}
