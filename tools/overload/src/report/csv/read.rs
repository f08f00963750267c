//! Back from the file to outcomes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::{CAPACITY, HEADS, SHED, SUCCESS};
use crate::capacity::{Capacities, Here, Served};
use crate::outcome::{Figures, Outcome, Row};
use crate::record::Counts;
use crate::shedders::Shedder;
use crate::sockets::Kind;

/// Experiment, shedder, factor, seed, capacity: what makes lines one case.
type Key<'a> = [&'a str; 5];

/// The outcomes of an earlier run, in its order, and its capacities.
///
/// # Errors
/// It is no such file, or a line of it cannot be read.
pub fn read(text: &str) -> Result<(Vec<Outcome>, Capacities)> {
    let mut lines = text.lines();
    ensure!(lines.next() == Some(HEADS), "its first line is not {HEADS:?}");
    let mut cases: Vec<(Key<'_>, Figures)> = Vec::new();
    for (number, line) in lines.enumerate() {
        let (key, figure, value) =
            split(line).with_context(|| format!("line {}: {line:?}", number + 2))?;
        if cases.last().is_none_or(|(last, _)| *last != key) {
            cases.push((key, Figures::new()));
        }
        if let Some((_, figures)) = cases.last_mut() {
            figures.insert(figure.to_owned().into(), value);
        }
    }
    let (capacities, cases): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|(key, _)| key[0].starts_with(CAPACITY));
    let outcomes = cases.into_iter().map(|(key, figures)| outcome(key, figures));
    Ok((outcomes.collect::<Result<_>>()?, of_capacities(&capacities)))
}

fn split(line: &str) -> Result<(Key<'_>, &str, f64)> {
    let parts: Vec<&str> = line.split(',').collect();
    let [experiment, shedder, factor, seed, capacity, figure, value] = parts[..] else {
        anyhow::bail!("it has {} parts and not 7", parts.len());
    };
    Ok(([experiment, shedder, factor, seed, capacity], figure, value.parse()?))
}

fn outcome(key: Key<'_>, figures: Figures) -> Result<Outcome> {
    let [experiment, shedder, factor, seed, capacity] = key;
    let shedder = Shedder::named(shedder).with_context(|| format!("no shedder {shedder:?}"))?;
    let figure = |name: &str| figures.get(name).copied();
    let row = Row {
        experiment: experiment.to_owned(),
        shedder: shedder.name(),
        factor: factor.parse().with_context(|| format!("factor {factor:?}"))?,
        seed: seed.parse().with_context(|| format!("seed {seed:?}"))?,
        capacity_rps: capacity.parse().with_context(|| format!("capacity {capacity:?}"))?,
        goodput_over_c: figure("goodput_over_c").unwrap_or(0.0),
        success_by_level: by_level(&figures, SUCCESS),
        p50_ms: figure("p50_ms"),
        p99_ms: figure("p99_ms"),
        p99_reject_ms: figure("p99_reject_ms"),
        shed_share_by_level: by_level(&figures, SHED),
    };
    let counts = counts(&figures);
    let of_a_level = |name: &str| name.starts_with(SUCCESS) || name.starts_with(SHED);
    let figures = figures.into_iter().filter(|(name, _)| !of_a_level(name)).collect();
    Ok(Outcome { row, counts, bins: Vec::new(), figures })
}

fn by_level(figures: &Figures, prefix: &str) -> BTreeMap<u8, f64> {
    let level = |(name, value): (&std::borrow::Cow<'_, str>, &f64)| {
        Some((name.strip_prefix(prefix)?.parse().ok()?, *value))
    };
    figures.iter().filter_map(level).collect()
}

fn counts(figures: &Figures) -> Counts {
    let count = |name: &str| figures.get(name).map_or(0, |it| *it as usize);
    Counts {
        offered: count("offered"),
        answered: count("answered"),
        shed: count("shed"),
        expired: count("expired"),
        failed: count("failed"),
        unfinished: count("unfinished"),
    }
}

fn of_capacities(cases: &[(Key<'_>, Figures)]) -> Capacities {
    let of = |place: &str| {
        let named = |key: &Key<'_>| key[0].strip_prefix(CAPACITY) == Some(&format!("/{place}"));
        cases.iter().find(|(key, _)| named(key)).map(|(_, figures)| figures)
    };
    let here = of("here").and_then(|figures| {
        let figure = |name: &str| figures.get(name).copied();
        Some(Here {
            together: figure("together")?,
            at_once: figure("at_once")? as usize,
            alone: figure("alone")?,
            idle_p50_ms: figure("idle_p50_ms")?,
            idle_p99_ms: figure("idle_p99_ms")?,
        })
    });
    let served = |kind: Kind| {
        let figures = of(kind.word())?;
        let figure = |name: &str| figures.get(name).copied();
        let (together, alone) = (figure("together")?, figure("alone")?);
        Some(Served { kind, together, at_once: figure("at_once")? as usize, alone })
    };
    Capacities { here, sockets: Kind::ALL.into_iter().filter_map(served).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::text;
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;

    #[test]
    fn what_was_written_is_read_back() {
        let records = [record(0.1, 2, Fate::Answered, 12.0), record(0.2, 4, Fate::Shed, 1.0)];
        let outcomes =
            [1, 2].map(|seed| Outcome::of(&case(Shedder::QalmArrival, 1.25, seed), &records, 10.0));
        let cpu = Served { kind: Kind::Cpu, together: 1448.0, at_once: 1, alone: 1448.0 };
        let known = Capacities { sockets: vec![cpu], ..Capacities::known(10.0) };
        let first = text(&outcomes, &known);
        let (again, capacities) = read(&first).unwrap();
        assert_eq!(capacities, known);
        assert_eq!(text(&again, &capacities), first);
        let row = |it: &Outcome| serde_json::to_string(&it.row).unwrap();
        assert_eq!(
            again.iter().map(row).collect::<Vec<_>>(),
            outcomes.iter().map(row).collect::<Vec<_>>()
        );
    }

    #[test]
    fn another_file_and_a_broken_line_are_refused_with_what_is_wrong() {
        assert!(read("a,b\n").unwrap_err().to_string().contains("first line"));
        let message =
            |line: &str| format!("{:#}", read(&format!("{HEADS}\n{line}\n")).unwrap_err());
        assert!(message("degradation,none,1").contains("line 2"));
        assert!(message("degradation,nobody,1,1,1,offered,1").contains("nobody"));
    }
}
