//! When all is well again: what a fault may leave behind, and for how long.

use std::time::Duration;

use anyhow::{Result, ensure};
use plimsoll_testkit::chaos::Moment;
use tokio::time::sleep;

use super::addresses::EXECUTORS;
use super::book::Book;
use super::namespaces::{self, FIXED};
use super::oracle::{Drain, Drained};
use super::scene::executor_name;

/// Everything undrained has an owner within this after a fault, and after a move.
const OWNED_WITHIN: Duration = Duration::from_secs(30);
/// And whoever was away has work again, and nothing moves, within this: a leader that
/// took over without a hand-over moves nothing for balance for a cooldown, a minute.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);
/// Nothing was started for so long: nothing moves any more.
const QUIET: Duration = Duration::from_millis(1500);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Waits until every undrained shard has an owner, every executor has work and
/// nothing has moved for a while since the fault was mended; gives when every shard
/// had an owner first.
///
/// # Errors
/// That takes too long.
pub(super) async fn until_well(
    book: &mut Book,
    drains: &[Drain],
    mended: Moment,
) -> Result<Moment> {
    let drains: Vec<_> = drains.iter().filter(|drain| drain.to.is_none()).collect();
    let (mut owned, mut busy) = (None, mended);
    // Since when some shard has no owner: those that move have none for a moment.
    let mut missing_since = mended;
    loop {
        book.read()?;
        let (missing, idle) = (missing(book, &drains), idle(book, &drains));
        let now = Moment::now();
        if missing.is_empty() {
            owned.get_or_insert(now);
            missing_since = now;
        }
        if !(missing.is_empty() && idle.is_empty()) {
            busy = now;
        }
        let last_start = book.last_start.unwrap_or(mended);
        if let Some(owned) = owned
            && busy.max(last_start).elapsed() > QUIET
        {
            return Ok(owned);
        }
        let since = mended.elapsed();
        ensure!(
            missing_since.elapsed() < OWNED_WITHIN,
            "{since:.0?} later these have no owner, or are drained and have one: {missing:?}"
        );
        ensure!(since < SETTLED_WITHIN, "{since:.0?} later shards still move, or idle: {idle:?}");
        sleep(LOOK_EVERY).await;
    }
}

/// Shards that are not as they should be: nobody owns them, or they are drained
/// and somebody does.
fn missing(book: &Book, drains: &[&Drain]) -> Vec<String> {
    let owned = book.owned();
    let drained = |shard: &str| {
        drains.iter().any(|drain| matches!(&drain.of, Drained::Shard(of) if of == shard))
    };
    let is_owned = |shard: &str| owned.iter().any(|(_, of)| *of == shard);
    let wrong = namespaces::shards().filter(|shard| is_owned(shard) == drained(shard));
    let on_drained_host = owned
        .iter()
        .filter(|(executor, shard)| drains.iter().any(|drain| drain.of.covers(shard, executor)));
    wrong.chain(on_drained_host.map(|(_, shard)| (*shard).to_owned())).collect()
}

/// Executors that may have shards of a namespace and have none: the server will
/// fill them, and moves because of an earlier fault are not to be counted with the
/// next.
fn idle(book: &Book, drains: &[&Drain]) -> Vec<String> {
    let owned = book.owned();
    let pairs = (0..EXECUTORS).map(executor_name).flat_map(|executor| {
        FIXED.iter().map(move |(namespace, _)| (executor.clone(), format!("{namespace}/")))
    });
    let idle = pairs.filter(|(executor, prefix)| {
        let has_work = owned.iter().any(|(who, of)| who == executor && of.starts_with(prefix));
        let drained = drains.iter().any(|drain| drain.of.covers(prefix, executor));
        !has_work && !drained
    });
    idle.map(|(executor, prefix)| format!("{executor} has nothing of {prefix}")).collect()
}
