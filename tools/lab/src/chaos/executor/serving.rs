//! Carries out requests for shards that are owned at that instant.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_client::Executor;
use plimsoll_testkit::chaos::Moment;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::super::wire::{Reply, Served};

/// How long a request takes.
const WORK: Duration = Duration::from_millis(2);

/// Serves until the socket breaks.
pub(super) async fn serve(listener: TcpListener, executors: Arc<[(String, Executor)]>, id: String) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(answer(socket, executors.clone(), id.clone()));
    }
}

async fn answer(mut socket: TcpStream, executors: Arc<[(String, Executor)]>, id: String) {
    let mut line = String::new();
    if BufReader::new(&mut socket).read_line(&mut line).await.is_err() {
        return;
    }
    let reply = reply(&executors, line.trim(), id).await;
    // The other side may have given up.
    let _ = socket.write_all(reply.to_line().as_bytes()).await;
}

async fn reply(executors: &[(String, Executor)], shard: &str, id: String) -> Reply {
    let of = |(namespace, key)| {
        let (_, executor) = executors.iter().find(|(name, _)| name == namespace)?;
        Some((executor, key))
    };
    let Some((executor, key)) = shard.split_once('/').and_then(of) else {
        return Reply::NotHere(None);
    };
    let serving = match executor.serve(key).await {
        Ok(serving) => serving,
        Err(not_here) => return Reply::NotHere(not_here.next),
    };
    // Asked once more, since `serve` may have waited for the shard to start.
    let from = Moment::now();
    let owned = executor.owns(key);
    let to = Moment::now();
    sleep(WORK).await;
    drop(serving);
    match owned.map(|owned| owned.generation) {
        Some(generation) => Reply::Served(Served { executor: id, generation, from, to }),
        None => Reply::NotHere(None),
    }
}
