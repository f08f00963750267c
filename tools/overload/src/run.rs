//! From a command line to results.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::capacity::Capacities;
use crate::case::Case;
use crate::experiments::Experiment;
use crate::goal::Judged;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::report::{chart, csv, goals, json, page, table};
use crate::schedule;

struct Done {
    experiment: &'static Experiment,
    outcomes: Vec<Outcome>,
    judged: Vec<Judged>,
}

/// Runs what the options ask for and prints it.
///
/// # Errors
/// An unknown name, a process that cannot be started, a file that cannot be read or
/// written.
pub fn run(options: &Options) -> Result<()> {
    let (experiments, scope) = (options.experiments()?, options.scope()?);
    let (earlier, known) = earlier(options)?;
    let planned: Vec<_> = experiments.iter().map(|it| (it.cases)(&scope)).collect();
    let wanted = |case: &Case| options.part.is_none_or(|part| part.has(case));
    let cases: Vec<Case> = planned.iter().flatten().filter(|it| wanted(it)).cloned().collect();
    eprintln!("measuring the capacity ...");
    let span = Duration::from_secs(if scope.quick { 4 } else { 8 });
    let measured = Capacities::measure(span, cases.iter().map(|it| &it.place))?;
    eprintln!("{measured}");
    let run = schedule::run(cases, &measured)?;
    let outcomes = beside(run.into_iter().flatten().collect(), earlier);
    let all: Vec<_> =
        experiments.iter().zip(&planned).map(|(it, cases)| done(it, cases, &outcomes)).collect();
    for done in &all {
        print(done, options)?;
    }
    write_files(&all, &measured.or(known), options)
}

/// Of the run that this one is to stand beside.
fn earlier(options: &Options) -> Result<(Vec<Outcome>, Capacities)> {
    let Some(file) = &options.with else { return Ok(Default::default()) };
    let text = std::fs::read_to_string(file).with_context(|| cannot("read", file))?;
    csv::read(&text).with_context(|| cannot("read", file))
}

/// These and, of the earlier ones, those that were not run again.
fn beside(mut outcomes: Vec<Outcome>, earlier: Vec<Outcome>) -> Vec<Outcome> {
    let key = |it: &Outcome| {
        let row = &it.row;
        (row.experiment.clone(), row.shedder, row.factor.to_bits(), row.seed)
    };
    let again: std::collections::BTreeSet<_> = outcomes.iter().map(key).collect();
    let kept = earlier.into_iter().filter(|it| !again.contains(&key(it)));
    outcomes.extend(kept);
    outcomes
}

/// What of all outcomes is this experiment's, in the order of its cases.
fn done(experiment: &'static Experiment, cases: &[Case], all: &[Outcome]) -> Done {
    let own = |it: &&Outcome| it.row.experiment.split('/').next() == Some(experiment.name);
    let mut outcomes: Vec<Outcome> = all.iter().filter(own).cloned().collect();
    let place = |it: &Outcome| {
        let row = &it.row;
        let same = |case: &Case| {
            case.title() == row.experiment
                && case.shedder.name() == row.shedder
                && case.factor.to_bits() == row.factor.to_bits()
                && case.seed == row.seed
        };
        cases.iter().position(same).unwrap_or(usize::MAX)
    };
    outcomes.sort_by_cached_key(place);
    experiment.relative.iter().for_each(|it| it.add_to(&mut outcomes));
    let judged = experiment.goals.iter().map(|it| it.judge(experiment.name, &outcomes)).collect();
    Done { experiment, outcomes, judged }
}

fn print(done: &Done, options: &Options) -> Result<()> {
    if options.json {
        print!("{}", json::lines(&done.outcomes)?);
        return Ok(());
    }
    let experiment = done.experiment;
    println!("\n{} ({}): {}\n", experiment.name, experiment.number, experiment.about);
    println!("{}", table::text(&table::rows(experiment, &done.outcomes)));
    println!("{}", table::text(&goals::rows(&done.judged)));
    Ok(())
}

fn write_files(all: &[Done], capacities: &Capacities, options: &Options) -> Result<()> {
    if let Some(file) = &options.csv {
        let outcomes: Vec<_> = all.iter().flat_map(|it| it.outcomes.iter().cloned()).collect();
        write(file, &csv::text(&outcomes, capacities))?;
    }
    if let Some(folder) = &options.svg {
        std::fs::create_dir_all(folder).with_context(|| cannot("make", folder))?;
        for done in all {
            if let Some(svg) = chart::svg(done.experiment, &done.outcomes)? {
                write(&folder.join(format!("{}.svg", done.experiment.name)), &svg)?;
            }
        }
    }
    if let Some(file) = &options.page {
        write(file, &whole_page(all, capacities, options))?;
    }
    Ok(())
}

fn whole_page(all: &[Done], capacities: &Capacities, options: &Options) -> String {
    let judged: Vec<_> = all.iter().flat_map(|it| it.judged.iter().cloned()).collect();
    let mut text = page::head(&options.whole_command(), &capacities.to_string(), &judged);
    for Done { experiment, outcomes, judged } in all {
        let command = options.command(experiment.name);
        text.push_str(&page::section(experiment, &command, outcomes, judged));
    }
    text
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| cannot("write", file))
}

fn cannot(what: &str, path: &Path) -> String {
    format!("cannot {what} {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::{case, record};
    use crate::record::Fate;
    use crate::shedders::Shedder;

    #[test]
    fn an_earlier_outcome_stays_unless_it_was_run_again() {
        let outcome = |seed, latency| {
            let records = [record(0.0, 2, Fate::Answered, latency)];
            Outcome::of(&case(Shedder::None, 2.0, seed), &records, 10.0)
        };
        let both = beside(vec![outcome(2, 7.0)], vec![outcome(1, 5.0), outcome(2, 5.0)]);
        let seen: Vec<_> = both.iter().map(|it| (it.row.seed, it.row.p50_ms)).collect();
        assert_eq!(seen, [(2, Some(7.0)), (1, Some(5.0))]);
    }
}
