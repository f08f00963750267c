//! Looks at every namespace again and again: often while somebody watches.

use std::time::Duration;

use futures::StreamExt;
use futures::future::try_join3;
use plimsoll_wire::v1;

use super::Picture;
use crate::app::App;
use crate::problem::Problem;
use crate::text::now_ms;
use crate::wire::Wire;

/// Between two looks while somebody watches.
const WATCHED: Duration = Duration::from_secs(2);
/// And while nobody does: the hour of balance is kept all the same.
const UNWATCHED: Duration = Duration::from_secs(5);
/// Namespaces that are asked at a time.
const AT_ONCE: usize = 8;
/// Shown in the list of the hottest.
const HOTTEST: u32 = 20;
/// Drawn one by one in the bar of an executor.
const LARGEST: u32 = 12;

/// Goes on until the server ends.
pub(crate) async fn look_on(app: App) {
    let end = app.options.shutdown.clone();
    loop {
        tokio::select! {
            () = look(&app) => {}
            () = end.cancelled() => return,
        }
        tokio::select! {
            () = pause(&app) => {}
            () = end.cancelled() => return,
        }
    }
}

async fn pause(app: &App) {
    if app.fleet.is_watched() {
        return tokio::time::sleep(WATCHED).await;
    }
    tokio::select! {
        () = tokio::time::sleep(UNWATCHED) => {}
        () = app.fleet.watched.notified() => {}
    }
}

async fn look(app: &App) {
    let listed = app.wire.list().await;
    app.fleet.list(now_ms(), listed);
    let names = futures::stream::iter(app.fleet.names());
    names.for_each_concurrent(AT_ONCE, async |name| drop(note(app, &name).await)).await;
    app.fleet.end_look();
}

/// Looks at one namespace now.
///
/// # Errors
/// Nobody answers for it.
pub(crate) async fn look_at(app: &App, name: &str) -> Result<(), Problem> {
    let failed = note(app, name).await;
    app.fleet.end_look();
    failed.map_or(Ok(()), Err)
}

async fn note(app: &App, name: &str) -> Option<Problem> {
    let looked = picture(&app.wire, name).await;
    let failed = looked.as_ref().err().cloned();
    app.fleet.note(name, looked, now_ms());
    failed
}

async fn picture(wire: &Wire, name: &str) -> Result<Picture, Problem> {
    let request = v1::GetLoadsRequest {
        namespace: name.to_owned(),
        hottest_shards: HOTTEST,
        largest_per_executor: LARGEST,
        ..Default::default()
    };
    let (described, loads, drains) =
        try_join3(wire.describe(name), wire.loads(request), wire.drains(name)).await?;
    Ok(Picture { taken_ms: now_ms(), described, loads, drains })
}
