//! A figure, not a test: `cargo test --release -p plimsoll-server --test policies figures
//! -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use plimsoll_server::Server;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::instance::Instance;
use super::support::{client, config, save, text};

const INSTANCES: usize = 100;
const EDITS: u64 = 50;

/// From the call that saves to the moment when the last of a hundred instances has the
/// policy, and to when each has.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a figure"]
async fn edit_to_effect() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&config(&folder)).await.unwrap();
    let (told, mut heard) = mpsc::unbounded_channel();
    for number in 0..INSTANCES {
        let name = format!("host-{number}");
        let mut instance = Instance::connect(server.grpc, "menu", &name, 0).await;
        let told = told.clone();
        tokio::spawn(async move {
            instance.next().await.unwrap();
            loop {
                let policy = instance.policy().await;
                let _ = told.send((policy.revision, Instant::now()));
            }
        });
    }
    let mut client = client(server.grpc);
    let (mut each, mut last) = (Vec::new(), Vec::new());
    for after in 0..EDITS {
        let saved = Instant::now();
        save(&mut client, "menu", after, text(1 + after % 4)).await.unwrap();
        let mut slowest = Duration::ZERO;
        for _ in 0..INSTANCES {
            let (revision, at) = heard.recv().await.unwrap();
            assert_eq!(revision, after + 1);
            each.push(at - saved);
            slowest = slowest.max(at - saved);
        }
        last.push(slowest);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!(
        "edit to effect, {INSTANCES} instances, {EDITS} edits, file store: each p50 {:?} p99 {:?}, the last of an edit p50 {:?} max {:?}",
        percentile(&mut each, 0.5),
        percentile(&mut each, 0.99),
        percentile(&mut last, 0.5),
        percentile(&mut last, 1.0),
    );
}

fn percentile(of: &mut [Duration], part: f64) -> Duration {
    of.sort_unstable();
    of[((of.len() - 1) as f64 * part).round() as usize]
}
