//! A server killed in the middle of its commits: what it acknowledged is there, and
//! nothing is there by half.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, thread};

use super::*;

const FOLDER: &str = "PLIMSOLL_STORE_KILL_TEST_FOLDER";
/// The longest that a child may take to commit anything.
const PATIENCE: Duration = Duration::from_secs(30);
const COMMITTERS: usize = 4;
const SHARDS_A_COMMITTER: usize = 10;

#[tokio::test]
async fn loses_nothing_acknowledged_and_keeps_no_half_batch() {
    let dir = folder();
    let mut acknowledged = [0; COMMITTERS];
    for round in 0..5 {
        // Every committer has been heard, and some more than in the last round.
        let lines = Victim::start(dir.path()).kill_after(20 + 30 * round);
        for (committer, generation) in lines {
            acknowledged[committer] = generation.max(acknowledged[committer]);
        }
        check(dir.path(), &acknowledged).await;
    }
}

async fn check(dir: &Path, acknowledged: &[u64]) {
    let stored = FileStore::open(dir).unwrap().load(NAME).await.unwrap();
    let batches: Vec<_> = stored.grants.chunks(SHARDS_A_COMMITTER).collect();
    assert_eq!(batches.len(), acknowledged.len());
    for (batch, acknowledged) in batches.iter().zip(acknowledged) {
        let kept = batch[0].1.generation;
        assert!(batch.iter().all(|(_, grant)| grant.generation == kept), "{batch:?}");
        assert!(kept >= *acknowledged, "{kept} kept, {acknowledged} acknowledged");
    }
}

/// A server of our own, and what it has acknowledged: committers and generations.
struct Victim {
    process: Child,
    acknowledged: Receiver<(usize, u64)>,
}

impl Victim {
    fn start(dir: &Path) -> Self {
        let child = "file::tests::kill::commits_until_killed";
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", child, "--ignored", "--nocapture"])
            .env(FOLDER, dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, acknowledged) = mpsc::channel();
        thread::spawn(move || {
            let lines = lines.map_while(Result::ok);
            for line in lines.filter_map(|line| acknowledgement(&line)) {
                // The test may be over.
                let _ = sender.send(line);
            }
        });
        Self { process, acknowledged }
    }

    /// Sends SIGKILL once so many commits, and one of every committer, are
    /// acknowledged. Everything that was, also in between.
    fn kill_after(mut self, commits: usize) -> Vec<(usize, u64)> {
        let mut lines: Vec<(usize, u64)> = Vec::new();
        let heard = |lines: &[(usize, u64)], committer| lines.iter().any(|it| it.0 == committer);
        while lines.len() < commits || !(0..COMMITTERS).all(|it| heard(&lines, it)) {
            lines.push(self.acknowledged.recv_timeout(PATIENCE).expect("no commit in time"));
        }
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        lines.extend(self.acknowledged.iter());
        lines
    }
}

fn acknowledgement(line: &str) -> Option<(usize, u64)> {
    let (committer, generation) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
    Some((committer.parse().ok()?, generation.strip_suffix('.')?.parse().ok()?))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the child of loses_nothing_acknowledged_and_keeps_no_half_batch"]
async fn commits_until_killed() {
    let Ok(dir) = env::var(FOLDER) else { return };
    let store = Arc::new(FileStore::open(dir).unwrap());
    let epoch = leadership(&store).await;
    let start = store.load(NAME).await.unwrap().generation_floor;
    let committers = (0..COMMITTERS).map(|committer| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { commit_forever(&store, epoch, committer, start).await })
    });
    futures::future::join_all(committers.collect::<Vec<_>>()).await;
}

async fn leadership(store: &FileStore) -> Epoch {
    let initial = (0..COMMITTERS).flat_map(|committer| batch(committer, 0)).collect();
    match store.create(namespace(), initial).await {
        Ok(()) | Err(Error::Exists { .. }) => store.lead(NAME).await.unwrap(),
        Err(error) => panic!("{error}"),
    }
}

async fn commit_forever(store: &FileStore, epoch: Epoch, committer: usize, start: u64) {
    for generation in start + 1.. {
        store.commit(NAME, epoch, batch(committer, generation)).await.unwrap();
        println!("acknowledged {committer} {generation}.");
    }
}

/// All shards of the committer, in one generation, and a floor to go on from.
fn batch(committer: usize, generation: u64) -> Vec<Write> {
    let shards = 0..SHARDS_A_COMMITTER;
    let grants = shards.map(|shard| grant(format!("{committer}-{shard}"), generation));
    grants.chain([Write::GenerationFloor(generation)]).collect()
}
