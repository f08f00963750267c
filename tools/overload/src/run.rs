//! From a command line to results.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::capacity::Capacities;
use crate::case::{Case, Place};
use crate::experiments::{Experiment, Scope};
use crate::goal::Judged;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::report::{chart, csv, goals, json, number, page, table};
use crate::schedule;
use crate::sockets::Server;

struct Done {
    experiment: &'static Experiment,
    outcomes: Vec<Outcome>,
    judged: Vec<Judged>,
}

/// Runs what the options ask for and prints it.
///
/// # Errors
/// An unknown name, a process that cannot be started, a file that cannot be
/// written.
pub fn run(options: &Options) -> Result<()> {
    let (experiments, scope) = (options.experiments()?, options.scope()?);
    let cases: Vec<_> = experiments.iter().map(|it| (it.cases)(&scope)).collect();
    let capacities = measure(&scope, &cases)?;
    eprintln!("{}", describe(&capacities));
    let all = outcomes(&experiments, cases, &capacities)?;
    for done in &all {
        print(done, options)?;
    }
    write_files(&all, &capacities, options)
}

fn measure(scope: &Scope, cases: &[Vec<Case>]) -> Result<Capacities> {
    eprintln!("measuring the capacity ...");
    let mut servers: Vec<Server> = Vec::new();
    for case in cases.iter().flatten().filter(|it| !it.per_second) {
        if let Place::Sockets(server) = &case.place
            && servers.iter().all(|it| it.kind != server.kind)
        {
            servers.push(Server::new(server.kind));
        }
    }
    Capacities::measure(Duration::from_secs(if scope.quick { 4 } else { 10 }), &servers)
}

/// In words, for the head of the page.
fn describe(capacities: &Capacities) -> String {
    let Capacities { io, io_alone, idle_p50_ms, idle_p99_ms, .. } = capacities;
    let change = 100.0 * (io / io_alone - 1.0);
    let served = capacities.sockets.iter();
    let served = served.map(|(it, c)| format!("; {c:.0} of the server process ({:?})", it.kind));
    let served: String = served.collect();
    format!(
        "C = {io:.0} requests a second in process (median of eight closed loops at once; \
         {io_alone:.0} alone, {change:+.1} %); idle p50 {} ms, p99 {} ms{served}",
        number(*idle_p50_ms),
        number(*idle_p99_ms)
    )
}

/// All cases of all experiments together, so that none waits for another's end.
fn outcomes(
    experiments: &[&'static Experiment],
    cases: Vec<Vec<Case>>,
    capacities: &Capacities,
) -> Result<Vec<Done>> {
    let counts: Vec<_> = cases.iter().map(Vec::len).collect();
    let mut outcomes =
        schedule::run(cases.into_iter().flatten().collect(), capacities)?.into_iter();
    let done = |(experiment, count): (&&'static Experiment, usize)| {
        let mut outcomes: Vec<_> = outcomes.by_ref().take(count).flatten().collect();
        experiment.relative.iter().for_each(|it| it.add_to(&mut outcomes));
        let judge = experiment.goals.iter().map(|it| it.judge(experiment.name, &outcomes));
        Done { experiment, judged: judge.collect(), outcomes }
    };
    Ok(experiments.iter().zip(counts).map(done).collect())
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
        write(file, &csv::text(&outcomes))?;
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
    let mut text = page::head(&options.whole_command(), &describe(capacities), &judged);
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
