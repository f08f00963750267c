//! Loads: measured by the application, told to the server as changes.
//!
//! Measuring is the application's code and may hang, so it has a thread of its
//! own and one measurement is under way at most: a stuck one delays loads and
//! nothing else. It is no blocking task of tokio's, because a runtime waits for
//! those before it lets a process end.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::thread;
use std::time::Duration;

use plimsoll_wire::v1::MeasuredLoad;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{ConnectError, Shards};

/// A measurement that takes longer is called stuck.
const STUCK_AFTER: Duration = Duration::from_secs(10);

/// One round of measuring. A shard that has no load to tell is left out.
pub(super) type Measured = Vec<(Arc<str>, Weight)>;

/// What the application says of one shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weight {
    pub(super) load: f64,
    pub(super) move_cost: Option<f64>,
}

impl Weight {
    /// Whether the server would take it.
    pub(super) fn is_valid(self) -> bool {
        let is_cost = |cost: f64| cost.is_finite() && cost > 0.0;
        self.load.is_finite() && self.load >= 0.0 && self.move_cost.is_none_or(is_cost)
    }
}

// === the thread ===

/// Asks the application for loads, one round at a time.
#[derive(Debug)]
pub(super) struct Meter {
    asks: blocking::Sender<Vec<Arc<str>>>,
    answers: mpsc::UnboundedReceiver<Measured>,
    asked: Option<Instant>,
    /// The round under way has been complained about.
    stuck: bool,
}

impl Meter {
    pub(super) fn start<S: Shards>(shards: Arc<S>) -> Result<Self, ConnectError> {
        let (asks, asked) = blocking::channel();
        let (answer, answers) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("plimsoll-loads".to_owned())
            .spawn(move || measure(&*shards, &asked, &answer))
            .map_err(ConnectError::Thread)?;
        Ok(Self { asks, answers, asked: None, stuck: false })
    }

    /// Whether the round of the last `ask` has no result yet.
    pub(super) fn is_late(&self) -> bool {
        self.asked.is_some()
    }

    /// Begins a round, unless one is under way. `true` when that one turns out to
    /// be stuck, once.
    pub(super) fn ask(&mut self, running: Vec<Arc<str>>) -> bool {
        match self.asked {
            Some(since) => {
                since.elapsed() >= STUCK_AFTER && !std::mem::replace(&mut self.stuck, true)
            }
            None => {
                if self.asks.send(running).is_ok() {
                    self.asked = Some(Instant::now());
                    self.stuck = false;
                }
                false
            }
        }
    }

    /// The next round's result. Cancelling loses nothing.
    pub(super) async fn measured(&mut self) -> Measured {
        match self.answers.recv().await {
            Some(measured) => {
                self.asked = None;
                measured
            }
            None => std::future::pending().await,
        }
    }
}

fn measure<S: Shards>(
    shards: &S,
    asked: &blocking::Receiver<Vec<Arc<str>>>,
    answer: &mpsc::UnboundedSender<Measured>,
) {
    while let Ok(keys) = asked.recv() {
        let weight = |key: Arc<str>| weight_of(shards, &key).map(|weight| (key, weight));
        if answer.send(keys.into_iter().filter_map(weight).collect()).is_err() {
            return;
        }
    }
}

/// A panic has been reported by the panic hook: it tells no load.
fn weight_of<S: Shards>(shards: &S, key: &str) -> Option<Weight> {
    let ask = || Some(Weight { load: shards.load(key)?, move_cost: shards.move_cost(key) });
    catch_unwind(AssertUnwindSafe(ask)).ok().flatten()
}

// === the book ===

/// What was measured and what the server knows of it.
#[derive(Debug, Default)]
pub(super) struct Book {
    measured: BTreeMap<Arc<str>, Weight>,
    told: BTreeMap<Arc<str>, Weight>,
    /// Shards whose load was refused, and complained about.
    refused: BTreeSet<Arc<str>>,
}

impl Book {
    /// Takes a load down; `false` if it was refused for the first time.
    pub(super) fn record(&mut self, shard: Arc<str>, weight: Weight) -> bool {
        if weight.is_valid() {
            self.measured.insert(shard, weight);
            return true;
        }
        !self.refused.insert(shard)
    }

    /// What changed since the last time, in order of key.
    pub(super) fn changes(&mut self) -> Vec<MeasuredLoad> {
        let told = &mut self.told;
        let news = |(shard, weight): &(&Arc<str>, &Weight)| told.get(*shard) != Some(*weight);
        let changes: Vec<_> = self.measured.iter().filter(news).collect();
        let messages = changes.iter().map(|(shard, weight)| {
            let before = told.get(*shard).and_then(|before| before.move_cost);
            told_as(shard, **weight, before)
        });
        let messages = messages.collect();
        told.extend(changes.into_iter().map(|(shard, weight)| (Arc::clone(shard), *weight)));
        messages
    }

    /// Another stream: the server is told everything again.
    pub(super) fn tell_again(&mut self) {
        self.told.clear();
    }

    /// The shard has stopped.
    pub(super) fn forget(&mut self, shard: &str) {
        self.measured.remove(shard);
        self.told.remove(shard);
        self.refused.remove(shard);
    }
}

/// A cost that was told already is left out.
fn told_as(shard: &Arc<str>, weight: Weight, told_cost: Option<f64>) -> MeasuredLoad {
    let Weight { load, move_cost } = weight;
    let move_cost = move_cost.filter(|cost| Some(*cost) != told_cost);
    MeasuredLoad { shard_key: shard.to_string(), load, move_cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_told_until_there_is_another_stream() {
        let mut book = Book::default();
        book.record("1".into(), weight(2.0));
        book.record("2".into(), weight(3.0));
        assert_eq!(told(&mut book), [("1".to_owned(), 2.0), ("2".to_owned(), 3.0)]);
        book.record("1".into(), weight(2.0));
        book.record("2".into(), weight(4.0));
        assert_eq!(told(&mut book), [("2".to_owned(), 4.0)]);
        book.tell_again();
        assert_eq!(told(&mut book), [("1".to_owned(), 2.0), ("2".to_owned(), 4.0)]);
    }

    #[test]
    fn a_shard_that_comes_back_is_told_again() {
        let mut book = Book::default();
        book.record("1".into(), weight(2.0));
        told(&mut book);
        book.forget("1");
        assert_eq!(told(&mut book), []);
        book.record("1".into(), weight(2.0));
        assert_eq!(told(&mut book), [("1".to_owned(), 2.0)]);
    }

    #[test]
    fn a_load_that_is_no_load_is_refused_and_complained_about_once() {
        let mut book = Book::default();
        assert!(!book.record("1".into(), weight(f64::NAN)));
        assert!(book.record("1".into(), weight(-1.0)));
        assert!(!book.record("2".into(), weight(f64::INFINITY)));
        assert_eq!(told(&mut book), []);
    }

    #[test]
    fn a_cost_is_told_once_and_when_it_changes() {
        let mut book = Book::default();
        let costs = |book: &mut Book| {
            book.changes().into_iter().map(|told| told.move_cost).collect::<Vec<_>>()
        };
        for (load, cost, told) in [(1.0, 3.0, Some(3.0)), (2.0, 3.0, None), (2.0, 5.0, Some(5.0))] {
            book.record("1".into(), Weight { load, move_cost: Some(cost) });
            assert_eq!(costs(&mut book), [told]);
        }
    }

    #[test]
    fn a_cost_that_is_no_cost_is_refused() {
        let mut book = Book::default();
        assert!(!book.record("1".into(), Weight { load: 1.0, move_cost: Some(0.0) }));
    }

    fn weight(load: f64) -> Weight {
        Weight { load, move_cost: None }
    }

    fn told(book: &mut Book) -> Vec<(String, f64)> {
        book.changes().into_iter().map(|told| (told.shard_key, told.load)).collect()
    }
}
