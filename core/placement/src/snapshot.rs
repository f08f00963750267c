//! The load of every shard at one moment, and the host it is on: what balance
//! experiments start from.
//!
//! As text, a comment with the number of hosts, a header, and one line a shard:
//!
//! ```text
//! # hosts=40 shards=256
//! shard,load,host
//! 0,6.74818,12
//! ```
//!
//! Refuses to read files: it is given the text.

pub mod generate;
mod parse;

use std::collections::BTreeMap;
use std::fmt;

use crate::measures::{Balance, Bound, Sum, lower_bound};
use crate::ring::key_hash;
use crate::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};

pub use parse::{ParseError, Reason};

/// The first line that is no comment.
const HEADER: &str = "shard,load,host";

/// Shards with their loads and hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// No key comes twice, and every host is one of `hosts`.
    pub shards: Vec<Shard>,
    /// Every host once, also those without a shard.
    pub hosts: Vec<String>,
}

/// One shard of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    pub key: String,
    /// In the unit of the snapshot: finite, not negative.
    pub load: f64,
    pub host: String,
}

impl Snapshot {
    /// The snapshot that a text holds. If its first comment says `hosts=N` and
    /// the shards name fewer, the others are called by the lowest free numbers.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// How even the snapshot is as it stands.
    pub fn balance(&self) -> Balance {
        let mut sums = vec![Sum::default(); self.hosts.len()];
        for (shard, owner) in self.shards.iter().zip(self.owners()) {
            if let Some(owner) = owner {
                sums[owner.0 as usize].add(shard.load);
            }
        }
        let loads: Vec<f64> = sums.into_iter().map(Sum::value).collect();
        Balance::of(&loads, 1.0)
    }

    /// How even any placement of these shards on these hosts can be at best.
    pub fn bound(&self) -> Bound {
        lower_bound(self.shards.iter().map(|shard| shard.load), self.hosts.len())
    }

    /// The same as a planner sees it: an open executor a host and every shard
    /// measured, both in the order they have here.
    pub fn view(&self) -> View {
        let executor = |host: &String| ExecutorView::new(host.as_str(), Candidacy::Open);
        let shards = self.shards.iter().zip(self.owners());
        View {
            executors: self.hosts.iter().map(executor).collect(),
            shards: shards.map(|(shard, owner)| shard.view(owner)).collect(),
        }
    }

    /// The host of every shard as a position.
    fn owners(&self) -> Vec<Option<ExecutorIndex>> {
        let names = self.hosts.iter().map(String::as_str);
        let places: BTreeMap<&str, ExecutorIndex> =
            names.zip((0u32..).map(ExecutorIndex)).collect();
        self.shards.iter().map(|shard| places.get(&*shard.host).copied()).collect()
    }
}

impl Shard {
    fn view(&self, owner: Option<ExecutorIndex>) -> ShardView {
        ShardView {
            owner,
            load: Some(Load::exactly(self.load)),
            ..ShardView::new(key_hash(&self.key))
        }
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# hosts={} shards={}", self.hosts.len(), self.shards.len())?;
        writeln!(f, "{HEADER}")?;
        for Shard { key, load, host } in &self.shards {
            writeln!(f, "{key},{load},{host}")?;
        }
        Ok(())
    }
}
