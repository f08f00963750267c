//! Everything that the processes of a run have written down so far, read on as
//! they write, and kept in the least form that the oracle needs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_testkit::chaos::Moment;

use super::namespaces::CREATED;
use super::record::{DRAINED, Entry};

/// Who has said nothing for so long owns nothing, as far as anybody can know.
const FRESH: Duration = Duration::from_millis(500);

/// An answer that takes longer is remembered.
const SLOW: Duration = Duration::from_millis(10);

/// That an executor owned a shard: certainly at `from`, certainly at `to`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Claim {
    pub(super) executor: String,
    pub(super) from: Moment,
    pub(super) to: Moment,
}

/// From the call of the application's `start` to the end of its `stop`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) executor: String,
    pub(super) shard: String,
    pub(super) generation: u64,
    pub(super) from: Moment,
    pub(super) to: Option<Moment>,
}

/// A request that was answered late, be it for whatever reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Slow {
    pub(super) due: Moment,
    pub(super) took: Duration,
}

/// A request that was not answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Loss {
    pub(super) due: Moment,
    pub(super) cause: String,
}

#[derive(Debug, Default)]
pub(super) struct Book {
    tails: Vec<Tail>,
    /// By shard and generation.
    pub(super) claims: BTreeMap<String, BTreeMap<u64, Claim>>,
    pub(super) spans: Vec<Span>,
    /// Spans that have not ended, by executor.
    open: BTreeMap<String, Vec<usize>>,
    /// When a process did not run, by executor.
    pub(super) stalls: BTreeMap<String, Vec<(Moment, Moment)>>,
    /// When each executor last said anything.
    seen: BTreeMap<String, Moment>,
    /// What each executor said last that it owns, and when.
    latest: BTreeMap<String, (Moment, Vec<String>)>,
    /// The last start of a shard that was not created.
    pub(super) last_start: Option<Moment>,
    pub(super) losses: Vec<Loss>,
    /// When an executor's lease in a namespace ended.
    pub(super) lease_ends: Vec<Moment>,
    pub(super) slow: Vec<Slow>,
    pub(super) answered: u64,
    /// Requests for shards that were drained.
    pub(super) drained: u64,
    /// How often somebody was seen to own a shard.
    pub(super) checks: u64,
    /// What has no place here: two owners of one generation.
    pub(super) contradictions: Vec<String>,
    /// Half lines, of processes that were killed while they wrote.
    pub(super) torn: u64,
}

/// A file that grows.
#[derive(Debug)]
struct Tail {
    name: String,
    path: PathBuf,
    reader: Option<BufReader<File>>,
    half: Vec<u8>,
}

impl Book {
    /// A book of the files of these processes, which may not be there yet.
    pub(super) fn of(files: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        let tail = |(name, path)| Tail { name, path, reader: None, half: Vec::new() };
        Self { tails: files.into_iter().map(tail).collect(), ..Self::default() }
    }

    /// Reads what is new.
    pub(super) fn read(&mut self) -> Result<()> {
        let mut tails = std::mem::take(&mut self.tails);
        for tail in &mut tails {
            while let Some(line) = tail.next()? {
                match serde_json::from_slice(&line) {
                    Ok(entry) => self.enter(&tail.name, entry),
                    Err(_) => self.torn += u64::from(line != b"\n"),
                }
            }
        }
        self.tails = tails;
        Ok(())
    }

    /// The process before was killed: what it ran had ended at the latest some time
    /// after it last said anything.
    fn begins_anew(&mut self, executor: &str) {
        let seen = self.seen.remove(executor);
        for index in self.open.remove(executor).unwrap_or_default() {
            self.spans[index].to = seen;
        }
        self.latest.remove(executor);
    }

    /// Who owns what at present.
    pub(super) fn owned(&self) -> Vec<(&str, &str)> {
        let now = Moment::now();
        let fresh = self.latest.iter().filter(|(_, (at, _))| now - *at < FRESH);
        fresh
            .flat_map(|(who, (_, shards))| shards.iter().map(|it| (who.as_str(), it.as_str())))
            .collect()
    }

    fn enter(&mut self, who: &str, entry: Entry) {
        match entry {
            Entry::Up { .. } => self.begins_anew(who),
            Entry::Started { at, shard, generation } => {
                self.see(who, at);
                self.started(who, at, shard, generation);
            }
            Entry::Stopped { at, shard, generation } => {
                self.see(who, at);
                self.stopped(who, at, &shard, generation);
            }
            Entry::Owns { from, to, shards } => {
                self.see(who, to);
                for (shard, generation) in &shards {
                    self.claim(who, shard, *generation, from, to);
                }
                let shards = shards.into_iter().map(|(shard, _)| shard).collect();
                self.latest.insert(who.to_owned(), (to, shards));
            }
            Entry::LeaseEnded { at } => self.lease_ends.push(at),
            Entry::Stalled { from, to } => {
                self.stalls.entry(who.to_owned()).or_default().push((from, to));
            }
            Entry::Answered { due, shard, executor, generation, from, to } => {
                self.answered += 1;
                if to - due > SLOW {
                    self.slow.push(Slow { due, took: to - due });
                }
                self.claim(&executor, &shard, generation, from, to);
            }
            Entry::Lost { cause, .. } if cause == DRAINED => self.drained += 1,
            Entry::Lost { due, cause, .. } => self.losses.push(Loss { due, cause }),
        }
    }

    fn see(&mut self, who: &str, at: Moment) {
        let seen = self.seen.entry(who.to_owned()).or_insert(at);
        *seen = at.max(*seen);
    }

    fn started(&mut self, who: &str, at: Moment, shard: String, generation: u64) {
        if !is_created(&shard) {
            self.last_start = self.last_start.max(Some(at));
        }
        self.open.entry(who.to_owned()).or_default().push(self.spans.len());
        let executor = who.to_owned();
        self.spans.push(Span { executor, shard, generation, from: at, to: None });
    }

    fn stopped(&mut self, who: &str, at: Moment, shard: &str, generation: u64) {
        let Self { spans, open, .. } = self;
        open.entry(who.to_owned()).or_default().retain(|index| {
            let span = &mut spans[*index];
            // The generation may have grown while it ran.
            let ends = span.shard == shard && span.generation <= generation;
            if ends {
                span.to = Some(at);
            }
            !ends
        });
    }

    /// It was owned at some instant between the two.
    fn claim(&mut self, who: &str, shard: &str, generation: u64, from: Moment, to: Moment) {
        self.checks += 1;
        let fresh = || Claim { executor: who.to_owned(), from: to, to: from };
        if !self.claims.contains_key(shard) {
            self.claims.insert(shard.to_owned(), BTreeMap::new());
        }
        let Some(claims) = self.claims.get_mut(shard) else { return };
        let claim = claims.entry(generation).or_insert_with(fresh);
        if claim.executor == who {
            (claim.from, claim.to) = (claim.from.min(to), claim.to.max(from));
        } else {
            let other = &claim.executor;
            let twice = format!("{who} and {other} both own shard {shard} by grant {generation}");
            if !self.contradictions.contains(&twice) {
                self.contradictions.push(twice);
            }
        }
    }
}

/// Whether it is of the namespace whose shards come and go.
pub(super) fn is_created(shard: &str) -> bool {
    shard.split_once('/').is_some_and(|(namespace, _)| namespace == CREATED)
}

impl Tail {
    /// The next whole line.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.reader.is_none() {
            self.reader = open(&self.path)?;
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        reader.read_until(b'\n', &mut self.half)?;
        let whole = self.half.last() == Some(&b'\n');
        Ok(whole.then(|| std::mem::take(&mut self.half)))
    }
}

fn open(path: &Path) -> Result<Option<BufReader<File>>> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::new(file))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
