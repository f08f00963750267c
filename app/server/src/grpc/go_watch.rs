//! `WatchNamespaceState` on the Go wire: the whole map, now and after every
//! change, the latest only.

use std::time::Duration;

use bytes::Bytes;
use plimsoll_wire::sharddistributor::WatchNamespaceStateRequest;
use tokio::sync::mpsc;
use tonic::{Response, Status, Streaming};

use super::Services;
use super::pushed::Pushes;
use super::support::{invalid, no_map_yet};
use crate::listing::Listed;

/// The least time between two whole maps on one stream, so that a busy
/// namespace does not do nothing but print its map.
const PACE: Duration = Duration::from_millis(20);

pub(super) type Request = WatchNamespaceStateRequest;

/// Opens a watch. One message is read and no more: the Go client never ends its
/// half, and that of another which does says nothing about the watch.
pub(super) async fn open(
    services: Services,
    mut requests: Streaming<Request>,
) -> Result<Response<Pushes>, Status> {
    let first = requests.message().await?;
    let name = first.ok_or_else(|| invalid("the watch names no namespace"))?.namespace;
    let listed = services.listed(&name)?;
    if listed.board.held().is_none() {
        return Err(no_map_yet(&name));
    }
    let (sender, states) = mpsc::channel(1);
    let (answering, pushed) = (services.clone(), listed.clone());
    tokio::spawn(async move {
        let _requests = requests;
        push(&services, &pushed, sender).await;
    });
    let mut answer = Response::new(Pushes::new(states));
    answering.tell_age(&listed, &mut answer);
    Ok(answer)
}

async fn push(services: &Services, listed: &Listed, states: mpsc::Sender<Result<Bytes, Status>>) {
    let _open = services.metrics.watch("sharddistributor");
    let mut changes = listed.board.changes();
    loop {
        changes.borrow_and_update();
        if states.send(Ok(listed.board.whole())).await.is_err() {
            return;
        }
        let next = async {
            tokio::time::sleep(PACE).await;
            changes.changed().await
        };
        tokio::select! {
            changed = next => if changed.is_err() { break },
            () = listed.gone.cancelled() => break,
            () = services.shutdown.cancelled() => break,
            () = states.closed() => return,
        }
    }
    // The client may have gone too.
    drop(states.send(Err(Status::cancelled("context canceled"))).await);
}
