//! Load snapshots as CSV: a comment `# hosts=H shards=S`, a heading
//! `shard,load,host`, then a line a shard.
//!
//! A field with a comma, a quote or a line break in it is quoted as usual for
//! CSV. A shard without an owner has an empty host.

use std::collections::HashSet;

use anyhow::{Context, Result, bail, ensure};

use crate::natural_order;

const HEADING: &str = "shard,load,host";

/// One shard of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) shard: String,
    pub(crate) load: f64,
    pub(crate) host: String,
}

/// Writes rows in the order of their keys, whatever order they come in.
pub(crate) fn write(mut rows: Vec<Row>, hosts: usize) -> String {
    rows.sort_by(|a, b| natural_order::compare(&a.shard, &b.shard));
    let mut text = format!("# hosts={hosts} shards={}\n{HEADING}\n", rows.len());
    for Row { shard, load, host } in &rows {
        text.push_str(&format!("{},{load},{}\n", quoted(shard), quoted(host)));
    }
    text
}

/// Reads what [`write()`] writes; the error names the line.
pub(crate) fn parse(text: &str) -> Result<Vec<Row>> {
    let mut records = records(text)?.into_iter();
    let (line, heading) = records.next().context("it is empty")?;
    ensure!(heading.join(",") == HEADING, "line {line}: the heading is not {HEADING:?}");
    let rows = records
        .map(|(line, fields)| row(fields).with_context(|| format!("line {line}")))
        .collect::<Result<Vec<_>>>()?;
    refuse_repeated_shards(&rows)?;
    Ok(rows)
}

fn row(fields: Vec<String>) -> Result<Row> {
    let Ok([shard, load, host]) = <[String; 3]>::try_from(fields) else {
        bail!("there are not three fields: shard, load, host");
    };
    ensure!(!shard.is_empty(), "the shard has no key");
    let load = load.parse().with_context(|| format!("{load:?} is no load"))?;
    Ok(Row { shard, load, host })
}

fn refuse_repeated_shards(rows: &[Row]) -> Result<()> {
    let mut seen = HashSet::new();
    match rows.iter().find(|row| !seen.insert(&row.shard)) {
        Some(row) => bail!("shard {:?} is there twice", row.shard),
        None => Ok(()),
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) || field.starts_with('#') {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The fields of every record with the number of its first line; comments and
/// empty lines left out.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>> {
    let mut records = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let mut record = line.to_owned();
        while record.matches('"').count() % 2 == 1 {
            let (more, _) =
                lines.next().with_context(|| format!("line {number}: a quote stays open"))?;
            record = record + "\n" + more;
        }
        if !record.is_empty() && !record.starts_with('#') {
            records.push((number, fields(&record)));
        }
    }
    Ok(records)
}

fn fields(record: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut in_quotes = false;
    let mut characters = record.chars().peekable();
    while let Some(c) = characters.next() {
        // There is always a last field: the list begins with one and only grows.
        let Some(field) = fields.last_mut() else { break };
        match c {
            '"' if in_quotes && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => fields.push(String::new()),
            c => field.push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(shard: &str, load: f64, host: &str) -> Row {
        Row { shard: shard.to_owned(), load, host: host.to_owned() }
    }

    #[test]
    fn writes_in_numeric_order() {
        let rows = vec![row("10", 1.5, "b"), row("2", 0.0, ""), row("1", 1e-7, "a")];
        let expected = "# hosts=2 shards=3\nshard,load,host\n1,0.0000001,a\n2,0,\n10,1.5,b\n";
        assert_eq!(write(rows, 2), expected);
    }

    #[test]
    fn reads_back_what_it_wrote() {
        let rows = vec![row("#1", 1.0, "a"), row("a,b", 2.0, "c\"d"), row("two\nlines", 3.0, "é")];
        assert_eq!(parse(&write(rows.clone(), 3)).unwrap(), rows);
    }

    #[test]
    fn says_which_line_is_wrong() {
        let cases = [
            ("", "it is empty"),
            ("shard,host\n", "line 1: the heading is not \"shard,load,host\""),
            (
                "# c\nshard,load,host\n1,2\n",
                "line 3: there are not three fields: shard, load, host",
            ),
            ("shard,load,host\n1,x,a\n", "line 2: \"x\" is no load: invalid float literal"),
            ("shard,load,host\n,1,a\n", "line 2: the shard has no key"),
            ("shard,load,host\n\"1,1,a\n", "line 2: a quote stays open"),
            ("shard,load,host\n1,1,a\n1,1,b\n", "shard \"1\" is there twice"),
        ];
        for (text, message) in cases {
            assert_eq!(format!("{:#}", parse(text).unwrap_err()), message);
        }
    }
}
