//! How many requests the servers count, a second: unary calls, hellos and beats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use plimsoll_telemetry::names;
use plimsoll_testkit::chaos::Moment;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

use super::addresses::{Net, SERVERS};
use super::scene::get;

const EVERY: Duration = Duration::from_secs(1);

/// Requests to all servers together since the reading before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) at: Moment,
    pub(super) a_second: f64,
    /// The most frequent operation.
    pub(super) mostly: String,
}

/// By operation.
type Counts = BTreeMap<String, f64>;

#[derive(Debug)]
pub(super) struct Gauges {
    rates: Arc<Mutex<Vec<Rate>>>,
    _reading: AbortOnDropHandle<()>,
}

impl Gauges {
    pub(super) fn start(net: Net) -> Self {
        let rates = Arc::new(Mutex::new(Vec::new()));
        let reading = tokio::spawn(read_in_time(net, rates.clone()));
        Self { rates, _reading: AbortOnDropHandle::new(reading) }
    }

    pub(super) fn rates(&self) -> Vec<Rate> {
        self.rates.lock().clone()
    }
}

async fn read_in_time(net: Net, rates: Arc<Mutex<Vec<Rate>>>) {
    let mut due = interval(EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: [Option<(Moment, Counts)>; SERVERS] = [const { None }; SERVERS];
    loop {
        due.tick().await;
        let texts = join_all((0..SERVERS).map(|n| get(net.http(n), "/metrics"))).await;
        let (now, mut rates_now) = (Moment::now(), Counts::new());
        for (last, text) in last.iter_mut().zip(texts) {
            let Some(text) = text else { continue };
            let counts = counts(&text, names::REQUESTS.name);
            if let Some((then, before)) = last.replace((now, counts.clone())) {
                add_rates(&mut rates_now, counts, &before, (now - then).as_secs_f64());
            }
        }
        let mostly = rates_now.iter().max_by(|one, other| one.1.total_cmp(other.1));
        let mostly = mostly.map_or_else(String::new, |(operation, _)| operation.clone());
        rates.lock().push(Rate { at: now, a_second: rates_now.values().sum(), mostly });
    }
}

fn add_rates(rates: &mut Counts, counts: Counts, before: &Counts, seconds: f64) {
    for (operation, total) in counts {
        let before = before.get(&operation).copied().unwrap_or(0.0);
        // A server that was started anew counts from 0.
        let new = if total < before { total } else { total - before };
        *rates.entry(operation).or_default() += new / seconds;
    }
}

/// Of a counter, by its label.
fn counts(text: &str, counter: &str) -> Counts {
    let of_counter = format!("{counter}_total{{operation=\"");
    let counts = text.lines().filter_map(|line| {
        let (operation, value) = line.strip_prefix(&of_counter)?.split_once("\"} ")?;
        Some((operation.to_owned(), value.parse().ok()?))
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_read_by_operation_and_no_other_is() {
        let text = "a_total{operation=\"x\"} 2\na_total{operation=\"y\"} 3\nab_total{operation=\"x\"} 7\n# a_total 9\n";
        let read = counts(text, "a");
        assert_eq!(read, Counts::from([("x".to_owned(), 2.0), ("y".to_owned(), 3.0)]));
    }

    #[test]
    fn a_server_that_was_started_anew_counts_from_nothing() {
        let mut rates = Counts::new();
        let counts = |value| Counts::from([("x".to_owned(), value)]);
        add_rates(&mut rates, counts(10.0), &counts(4.0), 2.0);
        add_rates(&mut rates, counts(4.0), &counts(100.0), 2.0);
        assert_eq!(rates, counts(5.0));
    }
}
