//! What commits to etcd cost, and how long a large namespace takes to come back, with
//! one member on this machine, which it starts.
//!
//! `cargo bench -p plimsoll-store --bench etcd` measures; without `--bench` it only
//! shows that it still runs. `ETCD_BIN` chooses the etcd.

#[path = "../tests/etcd/cluster.rs"]
#[allow(dead_code, clippy::expect_used, reason = "the tests use the rest")]
mod cluster;
#[path = "common/led.rs"]
mod led;

use std::env;
use std::sync::Arc;
use std::time::{Duration, Instant};

use led::{Led, NAMESPACE, Outcome, checkpoint, concurrent, fill, load, report, sequential, tell};
use plimsoll_store::{
    Elections, EtcdOptions, EtcdStore, MemoryStore, Present, Store, export, import,
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let scale = if env::args().any(|arg| arg == "--bench") { 100 } else { 1 };
    let etcd = Led::new(Arc::new(connect("/bench/").await?)).await?;
    sequential("etcd, one write after another", &etcd, 1, 20 * scale).await?;
    sequential("etcd, 50 writes a commit", &etcd, 50, 5 * scale).await?;
    sequential("etcd, 10,000 writes a commit", &etcd, 10_000, scale.div_ceil(10)).await?;
    concurrent("etcd, 64 committers, one namespace", &etcd, scale).await?;
    fill("etcd", &etcd, 1_000 * scale).await?;
    checkpoint("etcd", &etcd, 1_000 * scale).await?;
    load("etcd", &etcd).await?;
    transfer(&etcd).await?;
    elections(scale).await
}

async fn connect(prefix: &str) -> Outcome<EtcdStore> {
    let prefix = Some(prefix.to_owned());
    let options = EtcdOptions { prefix, ..EtcdOptions::new([cluster::shared()]) };
    Ok(EtcdStore::connect(&options).await?)
}

async fn transfer(etcd: &Led) -> Outcome<()> {
    let (mut text, start) = (Vec::new(), Instant::now());
    let done = export(&*etcd.store, &mut text).await?;
    let (records, bytes) = (done.records, text.len() >> 10);
    tell(&format!("etcd, {records} records exported, {bytes} KiB"), start.elapsed());
    let start = Instant::now();
    import(&connect("/bench-2/").await?, &*text, Present::Refuse).await?;
    tell(&format!("etcd, {records} records imported"), start.elapsed());
    let start = Instant::now();
    import(&MemoryStore::new(), &*text, Present::Refuse).await?;
    tell(&format!("memory, {records} records imported"), start.elapsed());
    Ok(())
}

async fn elections(count: u64) -> Outcome<()> {
    let store = connect("/bench/").await?;
    let server = Elections::join(&store, "a", "about", Duration::from_secs(60)).await?;
    let (mut led, mut observed) = (Vec::new(), Vec::new());
    let all = Instant::now();
    for _ in 0..count {
        let start = Instant::now();
        let seen = server.observe().await?;
        observed.push(start.elapsed());
        let start = Instant::now();
        server.lead(NAMESPACE, seen.leaders.first()).await?;
        led.push(start.elapsed());
    }
    report("etcd, everybody observed", all.elapsed(), observed);
    report("etcd, leaderships taken", all.elapsed(), led);
    store.delete(NAMESPACE).await?;
    Ok(())
}
