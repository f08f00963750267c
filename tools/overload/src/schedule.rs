//! Runs many cases at once without their getting in each other's way.
//!
//! A case that waits needs little CPU; how many run at once is bounded by the
//! requests a second that they offer together. Cases over sockets come after those in
//! this process: first those whose handlers wait, some beside each other, then one by
//! one those that must have the machine for themselves.

mod job;
mod progress;
mod room;

use anyhow::{Context, Result};
use parking_lot::Mutex;

use crate::capacity::Capacities;
use crate::case::{Case, Place};
use crate::io::open_loop;
use crate::load::arrivals;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::shedders::Truth;
use crate::sockets::{self, Ran};

use job::{Job, Lane};
use progress::Progress;
use room::Room;

/// What cases in this process offer together at most, in requests a second. One costs
/// about 5 µs, so this is a third of two cores.
pub(crate) const RATE_AT_ONCE: f64 = 130_000.0;
/// The same of servers whose handlers wait: they share a core, of which a request
/// takes 35 µs, and the client's another.
pub(crate) const SERVED_AT_ONCE: f64 = 10_000.0;
/// More than ever run: a thread that waits costs nothing.
const THREADS: usize = 512;

/// Outcomes with the numbers of their cases; `None` for a case that could not be run.
type Numbered = Vec<(usize, Option<Outcome>)>;

/// Runs them all; outcomes in the order of the cases, `None` for a case that could
/// not be run: one server process that did not start must not cost all the others.
///
/// # Errors
/// A case panicked.
pub fn run(cases: Vec<Case>, capacities: &Capacities) -> Result<Vec<Option<Outcome>>> {
    let jobs = job::of(cases);
    let progress = Progress::new(&jobs, capacities);
    let mut lanes = Lane::ALL.map(|lane| (lane, Vec::new()));
    for job in jobs {
        lanes[job.lane() as usize].1.push(job);
    }
    let mut outcomes = Vec::new();
    for (lane, jobs) in lanes {
        outcomes.extend(run_lane(&Room::new(jobs, capacities, lane), capacities, &progress)?);
    }
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

fn run_lane(room: &Room, capacities: &Capacities, progress: &Progress) -> Result<Numbered> {
    let outcomes = Mutex::new(Vec::new());
    let threads = room.most().min(THREADS);
    std::thread::scope(|scope| {
        let worker = || {
            while let Some((job, rate)) = room.take() {
                let done = run_job(&job, capacities);
                room.leave(rate);
                outcomes.lock().extend(done);
                progress.tick(&job, capacities);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|it| it.join().ok())
    })
    .context("a case panicked")?;
    Ok(outcomes.into_inner())
}

fn run_job(job: &Job, capacities: &Capacities) -> Numbered {
    let ran = run_case(job.first(), capacities);
    let outcome = |(index, case): &(usize, Case)| {
        let outcome = ran.as_ref().ok().map(|ran| outcome_of(case, ran, capacities));
        (*index, outcome)
    };
    if let Err(error) = &ran {
        eprintln!("left out: {job}: {error:#}");
    }
    job.cases().iter().map(outcome).collect()
}

fn outcome_of(case: &Case, ran: &Ran, capacities: &Capacities) -> Outcome {
    let mut outcome = Outcome::of(case, &ran.records, capacities.of(&case.place));
    let figures = ran.figures.iter().map(|&(name, value)| (name.into(), value));
    outcome.figures.extend(figures);
    outcome
}

fn run_case(case: &Case, capacities: &Capacities) -> Result<Ran> {
    let capacity = capacities.of(&case.place);
    match &case.place {
        Place::Io(_) => Ok(Ran { records: run_io(case, capacity)?, figures: Vec::new() }),
        Place::Sockets(server) => sockets::run(case, server, capacity),
        Place::Pair(pair) => sockets::run_pair(case, *pair),
    }
}

fn run_io(case: &Case, capacity: f64) -> Result<Vec<Record>> {
    let Place::Io(plan) = &case.place else { anyhow::bail!("not in this process") };
    let arrivals = arrivals(&case.streams, capacity, case.seed);
    let truth =
        Truth { places: plan.places, capacity, endpoints: case.endpoints(), seed: case.seed };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start a runtime")?;
    Ok(runtime.block_on(async {
        let admission = case.shedder.build(truth);
        open_loop(admission, plan.clone(), &arrivals, case.seed, case.drain).await
    }))
}
