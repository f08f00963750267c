//! Solvers beside the planners: Meta's, and one that looks for the best there is.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{ExecutorIndex, ShardIndex, View};

use crate::measure::{Effort, Line};
use crate::meta::{Meta, Search};
use crate::solver::{self, Best};
use crate::source::Named;
use crate::world::{Step, apply, shard_loads};

/// Which solvers run as well.
#[derive(Args, Clone, Debug, Default)]
pub struct Rivals {
    /// Run Meta's solver too: PyPI package `rebalancer`, installed under target/
    #[arg(long)]
    pub with_rebalancer: bool,
    /// The Python, from 3.12 on, that the solver is installed for
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// Look for the best placement there is: exactly for up to 18 shards, else
    /// until the deadline
    #[arg(long)]
    pub solver: bool,
    /// How long that may take for each snapshot, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub deadline: u64,
}

/// The solvers that were asked for, ready.
#[derive(Debug)]
pub struct Ready {
    meta: Option<Meta>,
    deadline: Option<Duration>,
}

impl Rivals {
    /// Makes them ready.
    ///
    /// # Errors
    ///
    /// Meta's solver cannot be installed.
    pub fn prepare(&self) -> Result<Ready> {
        let meta = self.with_rebalancer.then(|| Meta::prepare(self.python.as_deref()));
        let deadline = self.solver.then(|| Duration::from_secs(self.deadline));
        Ok(Ready { meta: meta.transpose()?, deadline })
    }
}

impl Ready {
    /// What Meta's solver makes of it: single moves, then with exchanges; within
    /// `most_moves` if it is given.
    ///
    /// # Errors
    ///
    /// The solver failed.
    pub fn meta(&self, named: &Named, most_moves: Option<usize>) -> Result<Vec<Line>> {
        let Some(meta) = &self.meta else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for (mode, swap) in [("rebalancer", false), ("rebalancer-swap", true)] {
            eprintln!("{}: {mode} ...", named.name);
            let mut view = named.snapshot.view();
            let search = Search { swap, seconds: 60, most_moves };
            let (steps, planning) = meta.solve(&view, search)?;
            let moved = apply(&mut view, &steps, Time::ZERO);
            let effort = Effort { moved, planning };
            lines.push(Line::new(&named.name, mode, &named.snapshot, &view, effort));
        }
        Ok(lines)
    }

    /// The best placement there is, or that was found until the deadline.
    pub fn best(&self, named: &Named, seed: u64) -> Option<(Line, Best)> {
        let deadline = self.deadline?;
        eprintln!("{}: solver ...", named.name);
        let mut view = named.snapshot.view();
        let start: Vec<u32> = owners(&view);
        let best = solver::best(&shard_loads(&view), view.executors.len(), &start, deadline, seed);
        let moved = apply(&mut view, &steps(&best), Time::ZERO);
        let effort = Effort { moved, planning: deadline };
        let mode = if best.proven { "best" } else { "best-found" };
        Some((Line::new(&named.name, mode, &named.snapshot, &view, effort), best))
    }
}

fn owners(view: &View) -> Vec<u32> {
    view.shards.iter().map(|shard| shard.owner.map_or(0, |owner| owner.0)).collect()
}

fn steps(best: &Best) -> Vec<Step> {
    let shards = (0u32..).map(ShardIndex).zip(&best.owners);
    shards.map(|(shard, &owner)| Step { shard, to: ExecutorIndex(owner) }).collect()
}
