//! What came of it, for people and for scripts.

use serde::Serialize;

use super::report::Report;

/// Loads are as the server saw them.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    snapshot: String,
    executors: usize,
    shards: u64,
    spread_start: f64,
    spread_end: f64,
    max_over_mean_start: f64,
    max_over_mean_end: f64,
    moves: u64,
    requests: u64,
    wrong_owner: u64,
    failed: u64,
    double_owners: u64,
}

impl Summary {
    pub(super) fn new(snapshot: &str, start: &Report, end: &Report) -> Self {
        Self {
            snapshot: snapshot.to_owned(),
            executors: end.hosts.len(),
            shards: end.shards,
            spread_start: start.balance.spread,
            spread_end: end.balance.spread,
            max_over_mean_start: start.balance.max_over_mean,
            max_over_mean_end: end.balance.max_over_mean,
            moves: end.moves,
            requests: end.tally.requests,
            wrong_owner: end.tally.wrong_owner,
            failed: end.tally.failed,
            double_owners: end.double_owners,
        }
    }

    /// No request failed and no shard ever had two owners.
    pub(super) fn is_clean(&self) -> bool {
        self.failed == 0 && self.double_owners == 0
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            // A plain struct of numbers always serializes.
            println!("{}", serde_json::to_string_pretty(self).unwrap_or_default());
            return;
        }
        println!(
            "{}: {} shards on {} executors: spread {:.2} % -> {:.2} %, max/mean {:.3} -> {:.3}, {} moves; {} requests, {} met the wrong owner, {} failed; {} double owners",
            self.snapshot,
            self.shards,
            self.executors,
            self.spread_start * 100.0,
            self.spread_end * 100.0,
            self.max_over_mean_start,
            self.max_over_mean_end,
            self.moves,
            self.requests,
            self.wrong_owner,
            self.failed,
            self.double_owners,
        );
    }
}
