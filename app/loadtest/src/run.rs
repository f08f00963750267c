//! Carries a plan out: connections first, then every request at its time.

mod bench;
mod looks;

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::bench::Bench;
use self::looks::Looks;
use crate::error::Error;
use crate::observe::Observer;
use crate::pacer;
use crate::plan::Plan;
use crate::report::Report;
use crate::schedule::Arrival;

/// Arrivals taken from the pacer at once.
const BATCH: usize = 256;

/// Runs a load test on the current tokio runtime, until the plan is carried out or
/// `stop` is ready. Requests under way are waited for in both cases, at most for the
/// plan's timeout. Dropping the future ends the test without a report.
///
/// # Errors
///
/// If the plan contradicts itself, the target cannot be connected to, or the gRPC
/// method cannot be learnt. What fails later is in the report.
pub async fn run(
    plan: Plan,
    mut observer: impl Observer,
    stop: impl Future<Output = ()>,
) -> Result<Report, Error> {
    plan.check()?;
    let bench = Bench::set_up(plan).await?;
    let arrivals = pacer::start(&bench.plan, bench.started.into_std())?;
    // Ends with this future, whatever becomes of it.
    let mut dispatching = JoinSet::new();
    dispatching.spawn(dispatch(bench.clone(), arrivals));
    let mut looks = Looks::new(bench.started);
    let mut stop = pin!(stop);
    let interrupted = loop {
        tokio::select! {
            _ = dispatching.join_next() => break false,
            () = &mut stop => break true,
            () = looks.next(&bench, &mut observer) => {}
        }
    };
    // Nothing more is started; what the pacer still holds was never offered.
    dispatching.shutdown().await;
    // By the intended starts: the last one is a little before the end of the plan.
    let planned = bench.planned();
    let ran = if interrupted { bench.started.elapsed().min(planned) } else { planned };
    let mut ended = pin!(bench.all_ended());
    loop {
        tokio::select! {
            () = &mut ended => break,
            () = looks.next(&bench, &mut observer) => {}
        }
    }
    Ok(bench.report(ran, interrupted))
}

async fn dispatch(bench: Arc<Bench>, mut arrivals: mpsc::Receiver<Arrival>) {
    let mut due = Vec::with_capacity(BATCH);
    while arrivals.recv_many(&mut due, BATCH).await > 0 {
        for arrival in due.drain(..) {
            bench.start(arrival);
        }
    }
}
