//! From text to snapshot, refusing what would make an experiment lie.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::load::{LoadError, check_load};

use super::{HEADER, Shard, Snapshot};

/// Where a text is no snapshot, and why.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    #[source]
    pub reason: Reason,
}

/// Why a line was refused.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Reason {
    #[error("no header: the first line that is no comment must be `{HEADER}`")]
    MissingHeader,
    #[error("`{0}` is not a shard: write `shard,load,host`, none of them empty")]
    Shape(String),
    #[error("load `{0}` is not a number: write it like 12.5")]
    BadNumber(String),
    #[error(transparent)]
    BadLoad(LoadError),
    #[error("shard `{0}` is listed twice: keep one of the two lines")]
    Duplicate(String),
    #[error("`hosts={says}`, but the shards name {named}: correct the number or leave it out")]
    HostCount { says: usize, named: usize },
}

pub(super) fn parse(text: &str) -> Result<Snapshot, ParseError> {
    let mut lines = numbered(text).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    match lines.next() {
        Some((_, HEADER)) => {}
        other => return Err(at(other.map_or(1, |(line, _)| line), Reason::MissingHeader)),
    }
    let mut keys = BTreeSet::new();
    let mut shards = Vec::new();
    for (line, fields) in lines {
        let shard = shard(fields).map_err(|reason| at(line, reason))?;
        if !keys.insert(shard.key.clone()) {
            return Err(at(line, Reason::Duplicate(shard.key)));
        }
        shards.push(shard);
    }
    Ok(Snapshot { hosts: hosts(text, &shards)?, shards })
}

fn at(line: usize, reason: Reason) -> ParseError {
    ParseError { line, reason }
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim))
}

fn shard(line: &str) -> Result<Shard, Reason> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[key, load, host] = &*fields else {
        return Err(Reason::Shape(line.into()));
    };
    if key.is_empty() || host.is_empty() {
        return Err(Reason::Shape(line.into()));
    }
    let number: f64 = load.parse().map_err(|_| Reason::BadNumber(load.into()))?;
    let load = check_load(number).map_err(Reason::BadLoad)?;
    Ok(Shard { key: key.into(), load, host: host.into() })
}

/// The hosts that shards name and, up to the number in the first comment,
/// others. Numbers come in order of value.
fn hosts(text: &str, shards: &[Shard]) -> Result<Vec<String>, ParseError> {
    let mut hosts: BTreeSet<String> = shards.iter().map(|shard| shard.host.clone()).collect();
    if let Some((line, says)) = declared(text) {
        if says < hosts.len() {
            return Err(at(line, Reason::HostCount { says, named: hosts.len() }));
        }
        let mut numbers = (0..).map(|number: usize| number.to_string());
        while hosts.len() < says {
            hosts.extend(numbers.next());
        }
    }
    let mut hosts: Vec<String> = hosts.into_iter().collect();
    hosts.sort_by_key(|host| host.len());
    Ok(hosts)
}

/// The number of hosts that the first comment gives, and its line.
fn declared(text: &str) -> Option<(usize, usize)> {
    let (line, comment) = numbered(text).find(|(_, line)| line.starts_with('#'))?;
    let word = comment.split_whitespace().find_map(|word| word.strip_prefix("hosts="))?;
    word.parse().ok().map(|hosts| (line, hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_snapshot_survives_being_written_and_read() {
        let text = "# hosts=3 shards=2\nshard,load,host\norders,12.5,b\n7,0.00001,a\n";
        let snapshot = parse(text).unwrap();
        assert_eq!(snapshot.to_string(), text);
        assert_eq!(snapshot.hosts, ["0", "a", "b"]);
    }

    #[test]
    fn hosts_without_shards_count() {
        let half = parse("# hosts=2\nshard,load,host\nx,4,0\n").unwrap();
        assert_eq!(half.balance().max_over_mean(), 2.0);
        assert_eq!(half.view().executors.len(), 2);
    }

    #[test]
    fn numbered_hosts_come_in_order_of_number() {
        let text = "# a comment\nshard,load,host\na,1,10\n\n# another\nb,1,9\n";
        assert_eq!(parse(text).unwrap().hosts, ["9", "10"]);
    }

    #[test]
    fn a_text_without_a_header_is_refused() {
        let message = "no header: the first line that is no comment must be `shard,load,host`";
        assert_eq!(refusal(""), format!("line 1: {message}"));
        assert_eq!(refusal("# hosts=1\n0,1,0\n"), format!("line 2: {message}"));
    }

    #[test]
    fn a_bad_line_is_named_with_what_to_write() {
        let second = |line: &str| refusal(&format!("shard,load,host\n{line}\n"));
        let shape = "is not a shard: write `shard,load,host`, none of them empty";
        assert_eq!(second("a,1"), format!("line 2: `a,1` {shape}"));
        assert_eq!(second("a,1,"), format!("line 2: `a,1,` {shape}"));
        assert_eq!(second("a,x,h"), "line 2: load `x` is not a number: write it like 12.5");
        assert!(second("a,NaN,h").starts_with("line 2: load is not a number: report"));
        assert!(second("a,-1,h").starts_with("line 2: load -1 is negative"));
    }

    #[test]
    fn a_shard_listed_twice_is_refused() {
        let text = "shard,load,host\na,1,x\nb,1,x\na,2,y\n";
        assert_eq!(refusal(text), "line 4: shard `a` is listed twice: keep one of the two lines");
    }

    #[test]
    fn more_hosts_than_declared_are_refused() {
        let text = "# hosts=1 shards=2\nshard,load,host\na,1,x\nb,1,y\n";
        assert_eq!(
            refusal(text),
            "line 1: `hosts=1`, but the shards name 2: correct the number or leave it out"
        );
    }
}
