//! SIGTERM.

use std::time::Duration;

use futures::future::try_join_all;
use plimsoll_client::Spectator;
use plimsoll_testkit::go::{API, GoClient, GoStream};
use plimsoll_testkit::{Fixture, Oracle, soon};
use plimsoll_wire::sharddistributor as go;

use crate::scene::{Files, full, workers};

const WATCHES: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_leaves_within_a_second_with_watches_and_sessions_open() {
    let files = Files::new("file", &[Fixture::fixed("orders", 16)]);
    let server = files.start().await;
    let oracle = Oracle::new();
    let executors = workers(&server, "orders", 4, &oracle).await;
    let url = server.url();
    let spectators = (0..WATCHES).map(|_| Spectator::connect(&url, "orders"));
    let spectators = try_join_all(spectators).await.unwrap();
    full(&spectators[0], 16).await;
    let client = GoClient::connect(server.grpc).await.unwrap();
    let watches: Vec<_> = try_join_all((0..WATCHES).map(|_| watch(&client))).await.unwrap();

    server.signal("TERM").unwrap();
    let status = server.ended(Duration::from_secs(1)).await;
    assert!(status.success(), "{status}");
    // Whoever watched has been told, or cut, and not left hanging.
    for mut watch in watches {
        soon(async { while let Ok(Some(_)) = watch.next_bytes().await {} }).await;
    }
    let owned: usize = executors.iter().map(|executor| executor.shards().len()).sum();
    assert_eq!((owned, spectators[0].len()), (16, 16));
    oracle.assert_clean();
}

async fn watch(client: &GoClient) -> anyhow::Result<GoStream> {
    let request = go::WatchNamespaceStateRequest { namespace: "orders".to_owned() };
    let mut stream = client.open(&format!("{API}/WatchNamespaceState"), &request, false).await?;
    stream.next_bytes().await?;
    Ok(stream)
}
