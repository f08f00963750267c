//! What a case came to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::case::Case;
use crate::record::{Counts, Fate, Record};
use crate::stats::{deviation, quantile};

/// The line of `--json`: exactly these keys.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub experiment: String,
    pub shedder: &'static str,
    pub factor: f64,
    pub seed: u64,
    pub capacity_rps: f64,
    /// Answers in time a second, over the capacity.
    pub goodput_over_c: f64,
    /// The part of what was offered that was answered in time; levels that were
    /// offered only.
    pub success_by_level: BTreeMap<u8, f64>,
    /// Of what was answered, from the intended start; null if nothing was.
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// From the call of the shedder to the refusal; null if nothing was refused.
    pub p99_reject_ms: Option<f64>,
    /// The part of what was offered that was shed or expired.
    pub shed_share_by_level: BTreeMap<u8, f64>,
}

/// A tenth of a second of a case, by intended start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    pub offered: u32,
    pub shed: u32,
    /// Answers in time that came in it, whenever they were asked for.
    pub in_time: u32,
    /// The slowest answer to what was asked for in it.
    pub slowest_ms: f64,
}

/// Seconds a bin.
pub const BIN: f64 = 0.1;

/// The row, the counts, the course and further figures of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub row: Row,
    pub counts: Counts,
    pub bins: Vec<Bin>,
    pub figures: Figures,
}

/// Figures by name.
pub type Figures = BTreeMap<Cow<'static, str>, f64>;

impl Outcome {
    /// From all records of a case, warm-up included, which does not count.
    pub fn of(case: &Case, records: &[Record], capacity: f64) -> Self {
        let measured: Vec<Record> =
            records.iter().filter(|it| it.at >= 0.0 && it.at < case.span).copied().collect();
        let bins = bins(case.span, records);
        let row = row(case, &measured, &bins, capacity);
        let mut figures = common(&measured, &bins);
        let named = rows(&row).into_iter().chain((case.extra)(case, &measured, capacity));
        figures.extend(named.map(|(name, value)| (name.into(), value)));
        Self { row, counts: Counts::of(&measured), bins, figures }
    }

    /// One figure, if it could be measured.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }
}

fn row(case: &Case, measured: &[Record], bins: &[Bin], capacity: f64) -> Row {
    let in_time: u32 = bins.iter().map(|bin| bin.in_time).sum();
    let answered = |it: &&Record| it.fate == Fate::Answered;
    let mut latencies: Vec<f64> =
        measured.iter().filter(answered).map(|it| it.latency_ms).collect();
    let shed = measured.iter().filter(|it| it.fate == Fate::Shed);
    let mut decided: Vec<f64> = shed.map(|it| it.decided_ms).collect();
    Row {
        experiment: case.title(),
        shedder: case.shedder.name(),
        factor: case.factor,
        seed: case.seed,
        capacity_rps: capacity,
        goodput_over_c: f64::from(in_time) / case.span / capacity,
        success_by_level: share_by_level(measured, Record::in_time),
        p50_ms: quantile(&mut latencies, 0.5),
        p99_ms: quantile(&mut latencies, 0.99),
        p99_reject_ms: quantile(&mut decided, 0.99),
        shed_share_by_level: share_by_level(measured, Record::turned_away),
    }
}

fn share_by_level(records: &[Record], which: fn(&Record) -> bool) -> BTreeMap<u8, f64> {
    let mut counts = BTreeMap::<u8, (f64, f64)>::new();
    for record in records {
        let count = counts.entry(record.asked.level.level()).or_default();
        count.0 += 1.0;
        count.1 += f64::from(u8::from(which(record)));
    }
    counts.into_iter().map(|(level, (offered, such))| (level, such / offered)).collect()
}

/// Answers count where they came, so that goodput is what left the service during
/// the span, also of a service that lags behind.
fn bins(span: f64, records: &[Record]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); (span / BIN).round() as usize];
    let index = |at: f64| if at < 0.0 { usize::MAX } else { (at / BIN) as usize };
    for record in records {
        if let Some(bin) = bins.get_mut(index(record.at)) {
            bin.offered += 1;
            bin.shed += u32::from(record.turned_away());
            bin.slowest_ms = bin.slowest_ms.max(record.latency_ms);
        }
        if record.in_time()
            && let Some(bin) = bins.get_mut(index(record.ended_at()))
        {
            bin.in_time += 1;
        }
    }
    bins
}

/// The figures of the row that goals are set for.
fn rows(row: &Row) -> Vec<(&'static str, f64)> {
    let mut figures = vec![("goodput_over_c", row.goodput_over_c)];
    let named =
        [("p50_ms", row.p50_ms), ("p99_ms", row.p99_ms), ("p99_reject_ms", row.p99_reject_ms)];
    figures.extend(named.into_iter().filter_map(|(name, value)| Some((name, value?))));
    figures
}

/// Figures of every experiment.
fn common(measured: &[Record], bins: &[Bin]) -> Figures {
    let critical: Vec<&Record> =
        measured.iter().filter(|it| it.asked.level.is_critical()).collect();
    let others: Vec<&Record> = measured.iter().filter(|it| !it.asked.level.is_critical()).collect();
    let mut lags: Vec<f64> = measured.iter().map(|it| it.lag_ms).collect();
    let mut figures = vec![
        ("shed_share", share(measured.iter().collect::<Vec<_>>().as_slice(), Record::turned_away)),
        ("shed_deviation_points", shed_deviation(bins)),
        ("lag_p99_ms", quantile(&mut lags, 0.99).unwrap_or(0.0)),
        ("failed", count(measured, |it| it.fate == Fate::Failed)),
        ("unfinished", count(measured, |it| it.fate == Fate::Unfinished)),
    ];
    if !critical.is_empty() {
        figures.push(("critical_success", share(&critical, Record::in_time)));
        figures.push(("critical_turned_away", share(&critical, Record::turned_away)));
        figures.push(("critical_p99_ms", p99(&critical)));
    }
    if !others.is_empty() {
        figures.push(("other_success", share(&others, Record::in_time)));
    }
    figures.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn count(records: &[Record], which: impl Fn(&Record) -> bool) -> f64 {
    records.iter().filter(|it| which(it)).count() as f64
}

fn share(records: &[&Record], which: fn(&Record) -> bool) -> f64 {
    let such = records.iter().filter(|it| which(it)).count();
    such as f64 / records.len().max(1) as f64
}

/// Of those answered; 0 if nobody was.
pub(crate) fn p99(records: &[&Record]) -> f64 {
    let answered = records.iter().filter(|it| it.fate == Fate::Answered);
    let mut latencies: Vec<f64> = answered.map(|it| it.latency_ms).collect();
    quantile(&mut latencies, 0.99).unwrap_or(0.0)
}

/// The standard deviation of the part that was shed in each whole second, in
/// points.
fn shed_deviation(bins: &[Bin]) -> f64 {
    let seconds = bins.chunks_exact((1.0 / BIN).round() as usize);
    let shares: Vec<f64> = seconds
        .map(|second| {
            let shed: u32 = second.iter().map(|bin| bin.shed).sum();
            let offered: u32 = second.iter().map(|bin| bin.offered).sum();
            100.0 * f64::from(shed) / f64::from(offered.max(1))
        })
        .collect();
    deviation(&shares)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use plimsoll_peers::Asked;
    use plimsoll_shedding::Criticality;
    use plimsoll_shedding::criticality::Cohort;

    use super::*;
    use crate::case::Place;
    use crate::io::ServicePlan;
    use crate::shedders::Shedder;

    pub(crate) fn case(shedder: Shedder, factor: f64, seed: u64) -> Case {
        Case {
            experiment: "trial",
            variant: "",
            shedder,
            factor,
            seed,
            streams: Vec::new(),
            place: Place::Io(ServicePlan::default()),
            per_second: false,
            span: 2.0,
            drain: Duration::ZERO,
            extra: |_, records, _| vec![("records", records.len() as f64)],
        }
    }

    pub(crate) fn record(at: f64, level: u8, fate: Fate, latency_ms: f64) -> Record {
        let level = Criticality::from_level(level).unwrap();
        let cohort = Cohort::default();
        let asked = Asked { level, cohort, caller: 0, endpoint: 0, patience: None };
        Record { at, asked, fate, latency_ms, decided_ms: latency_ms / 10.0, lag_ms: 0.5 }
    }

    fn records() -> Vec<Record> {
        vec![
            record(-1.0, 2, Fate::Answered, 5.0),
            record(0.0, 2, Fate::Answered, 10.0),
            record(0.5, 2, Fate::Answered, 500.0),
            record(1.0, 4, Fate::Shed, 20.0),
            record(1.1, 4, Fate::Expired, 300.0),
            record(1.2, 4, Fate::Answered, 30.0),
            record(1.3, 1, Fate::Unfinished, 0.0),
            record(2.0, 2, Fate::Answered, 10.0),
        ]
    }

    #[test]
    fn a_case_comes_to_what_its_records_say_without_the_warm_up() {
        let outcome = Outcome::of(&case(Shedder::None, 1.5, 7), &records(), 10.0);
        let row = &outcome.row;
        assert_eq!(row.goodput_over_c, 2.0 / 2.0 / 10.0);
        assert_eq!(row.success_by_level, BTreeMap::from([(1, 0.0), (2, 0.5), (4, 1.0 / 3.0)]));
        assert_eq!(row.shed_share_by_level[&4], 2.0 / 3.0);
        assert_eq!(
            (row.p50_ms, row.p99_ms, row.p99_reject_ms),
            (Some(30.0), Some(500.0), Some(2.0))
        );
        assert_eq!(outcome.figure("records"), Some(6.0));
        assert_eq!(outcome.figure("critical_success"), Some(1.0 / 3.0));
        assert_eq!(outcome.figure("other_success"), Some(1.0 / 3.0));
    }

    #[test]
    fn every_request_that_was_offered_has_one_fate() {
        let outcome = Outcome::of(&case(Shedder::None, 1.5, 7), &records(), 10.0);
        let Counts { offered, answered, shed, expired, failed, unfinished } = outcome.counts;
        assert!(outcome.counts.add_up());
        assert_eq!((offered, answered, shed, expired, failed, unfinished), (6, 3, 1, 1, 0, 1));
    }

    #[test]
    fn the_line_of_json_has_exactly_the_agreed_keys() {
        let outcome = Outcome::of(&case(Shedder::Plimsoll, 1.5, 7), &records(), 10.0);
        let line = serde_json::to_value(&outcome.row).unwrap();
        let mut keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let mut agreed = [
            "experiment",
            "shedder",
            "factor",
            "seed",
            "capacity_rps",
            "goodput_over_c",
            "success_by_level",
            "p50_ms",
            "p99_ms",
            "p99_reject_ms",
            "shed_share_by_level",
        ];
        agreed.sort_unstable();
        assert_eq!(keys, agreed);
        assert_eq!(line["success_by_level"]["2"], 0.5);
    }

    #[test]
    fn nothing_answered_and_nothing_refused_has_no_percentiles() {
        let records = [record(0.0, 2, Fate::Unfinished, 0.0)];
        let row = Outcome::of(&case(Shedder::None, 1.0, 1), &records, 10.0).row;
        assert_eq!((row.p50_ms, row.p99_ms, row.p99_reject_ms), (None, None, None));
    }

    #[test]
    fn the_deviation_is_of_the_part_shed_in_whole_seconds() {
        let second = |at: f64, shed: bool| {
            let fate = if shed { Fate::Shed } else { Fate::Answered };
            [record(at, 4, Fate::Answered, 1.0), record(at + 0.5, 4, fate, 1.0)]
        };
        let records = [second(0.0, true), second(1.0, false)].concat();
        let outcome = Outcome::of(&case(Shedder::None, 1.0, 1), &records, 10.0);
        // 50 % and 0 %.
        let deviation = outcome.figure("shed_deviation_points").unwrap();
        assert!((deviation - 1250.0_f64.sqrt()).abs() < 1e-9, "{deviation}");
    }
}
