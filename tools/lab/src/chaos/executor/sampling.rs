//! Asks the executors what they own, every few milliseconds, on a thread of its
//! own; writes down every change, and ten times a second that nothing changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::{Contact, Executor};
use plimsoll_testkit::chaos::Moment;

use super::super::record::{Entry, Log};

const EVERY: Duration = Duration::from_millis(10);
const SAY_EVERY: Duration = Duration::from_millis(100);
/// A thread that wakes so late did not run.
const STALL: Duration = Duration::from_millis(250);

#[derive(Clone)]
struct Sample {
    from: Moment,
    to: Moment,
    shards: Vec<(String, u64)>,
}

/// Ends when what it gives is dropped.
pub(super) fn start(executors: Arc<[(String, Executor)]>, log: Arc<Log>) -> Result<Sender<()>> {
    let (sender, end) = channel();
    let sampling = move || run(&executors, &log, &end);
    std::thread::Builder::new().spawn(sampling).context("cannot start a thread")?;
    Ok(sender)
}

fn run(executors: &[(String, Executor)], log: &Log, end: &Receiver<()>) {
    let mut last = sample(executors);
    say(log, &last);
    let mut said = last.to;
    let mut fenced = fenced_in(executors);
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let next = sample(executors);
        if next.to - last.to > STALL {
            log.append(&Entry::Stalled { from: last.to, to: next.to });
        }
        if next.shards != last.shards {
            say(log, &last);
            say(log, &next);
            said = next.to;
        } else if next.to - said > SAY_EVERY {
            say(log, &next);
            said = next.to;
        }
        last = next;
        let now = fenced_in(executors);
        now.difference(&fenced).for_each(|_| log.append(&Entry::LeaseEnded { at: Moment::now() }));
        fenced = now;
    }
}

/// Namespaces in which the lease has ended.
fn fenced_in(executors: &[(String, Executor)]) -> BTreeSet<&str> {
    let ended = |it: &&(String, Executor)| *it.1.contact().borrow() == Contact::LeaseEnded;
    executors.iter().filter(ended).map(|(namespace, _)| namespace.as_str()).collect()
}

fn sample(executors: &[(String, Executor)]) -> Sample {
    let from = Moment::now();
    let of = |(namespace, executor): &(String, Executor)| {
        let shards = executor.shards().into_iter();
        let named = shards.map(|it| (format!("{namespace}/{}", it.key()), it.generation()));
        named.collect::<Vec<_>>()
    };
    let shards = executors.iter().flat_map(of).collect();
    Sample { from, to: Moment::now(), shards }
}

fn say(log: &Log, sample: &Sample) {
    let Sample { from, to, shards } = sample.clone();
    log.append(&Entry::Owns { from, to, shards });
}
