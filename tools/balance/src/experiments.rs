//! The experiments, by the name they have on the command line.

pub mod budget;
pub mod chaos;
pub mod drain;
pub mod month;
pub mod noise;
pub mod planner;
mod reach;
pub mod restart;
pub mod rivals;
pub mod scale_out;
pub mod snapshots;
pub mod step;
pub mod thrash;

use anyhow::Result;
use clap::Subcommand;

use crate::report::{Output, Report};

/// One experiment with its settings.
#[derive(Clone, Debug, Subcommand)]
pub enum Experiment {
    /// Run every mode to rest on each snapshot
    Snapshots(snapshots::Options),
    /// The same with 1 %, 2 % and 5 % of shards movable
    Budget(budget::Options),
    /// Dicer's random placement test, then the same with two hot keys
    Chaos(chaos::Options),
    /// Remove the hottest host
    Drain(drain::Options),
    /// Add one host, then half again
    ScaleOut(scale_out::Options),
    /// A month of virtual time from hash-ring placement
    Month(month::Options),
    /// CockroachDB's skewed-CPU scenario and its measure of thrash
    Thrash(thrash::Options),
    /// Noise of 30 % and a drift of 10 % a day, for 24 hours
    Noise(noise::Options),
    /// One shard doubles for good: how long until that is put right
    Step(step::Options),
    /// Restart every host in turn
    Restart(restart::Options),
    /// Time the planner on one core
    Planner(planner::Options),
}

/// Runs an experiment and gives its result in the forms asked for.
///
/// # Errors
///
/// Its input cannot be read, or its output cannot be written.
pub fn run(experiment: &Experiment, output: &Output) -> Result<()> {
    report(experiment)?.emit(output)
}

/// Runs an experiment.
///
/// # Errors
///
/// Its input cannot be read, or a solver that it was told to ask failed.
pub fn report(experiment: &Experiment) -> Result<Report> {
    match experiment {
        Experiment::Snapshots(options) => snapshots::run(options),
        Experiment::Budget(options) => budget::run(options),
        Experiment::Chaos(options) => chaos::run(options),
        Experiment::Drain(options) => drain::run(options),
        Experiment::ScaleOut(options) => scale_out::run(options),
        Experiment::Month(options) => month::run(options),
        Experiment::Thrash(options) => thrash::run(options),
        Experiment::Noise(options) => noise::run(options),
        Experiment::Step(options) => step::run(options),
        Experiment::Restart(options) => restart::run(options),
        Experiment::Planner(options) => planner::run(options),
    }
}

/// The modes of these names; `usual` if none is named.
fn modes(names: &[String], usual: &[crate::mode::Mode]) -> Result<Vec<crate::mode::Mode>> {
    if names.is_empty() {
        return Ok(usual.to_vec());
    }
    names.iter().map(|name| crate::mode::Mode::parse(name)).collect()
}
