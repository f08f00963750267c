//! The seed's story with real processes: placed by a hash ring, then balanced.
//!
//! One real server here, executors in processes of their own that burn CPU in
//! proportion to the load of their shards. What each used is read from the
//! operating system, before balance is switched on and after it has come to rest.

use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use plimsoll_balance::report::Report;
use plimsoll_placement::measures::{Balance, lower_bound};
use plimsoll_server::config::StoreKind;
use plimsoll_server::driver::NamespaceHandle;
use plimsoll_wire::v1;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::burner::Work;
use crate::setup::{Laboratory, admin};

const NAMESPACE: &str = "live";
const PATIENCE: Duration = Duration::from_secs(60);
/// Nothing has moved for so long: balance is at rest.
const CALM: Duration = Duration::from_secs(5);
/// Linux counts the time of processes in hundredths of a second.
const TICKS: f64 = 100.0;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 6)]
    executors: usize,
    /// How long CPU is measured, in seconds, before and after
    #[arg(long, default_value_t = 12)]
    window: u64,
    /// The mode that is switched on
    #[arg(long, default_value = "adaptive")]
    mode: String,
    #[command(flatten)]
    work: Work,
}

#[derive(Serialize)]
struct Record<'a> {
    executor: &'a str,
    cores_before: f64,
    cores_after: f64,
}

#[derive(Serialize)]
struct Summary<'a> {
    mode: &'a str,
    max_over_mean_before: f64,
    max_over_mean_after: f64,
    bound_max_over_mean: f64,
    spread_points_before: f64,
    spread_points_after: f64,
    moves: u64,
}

pub(crate) async fn run(options: Options) -> Result<Report> {
    let laboratory = Laboratory::start(StoreKind::Memory).await?;
    let namespace = laboratory.create(request(options.work.shards)).await?;
    let crew = Crew::start(&laboratory.url(), &options)?;
    until_all_own(&namespace, options.work.shards).await?;
    until_calm(&namespace).await?;
    let window = Duration::from_secs(options.window);
    eprintln!("placed by the ring; measuring for {window:?} ...");
    let before = crew.cores(window).await?;
    let moves = moves(&namespace).await?;
    switch(&laboratory.url(), &options.mode).await?;
    until_calm(&namespace).await?;
    eprintln!("balanced by {}; measuring for {window:?} ...", options.mode);
    let after = crew.cores(window).await?;
    let moves = self::moves(&namespace).await? - moves;
    for cores in [&before, &after] {
        undisturbed(cores, options.work.cores)?;
    }
    let report = report(&options, &crew, &before, &after, moves)?;
    drop(crew);
    laboratory.server.stop().await;
    Ok(report)
}

fn request(shards: usize) -> v1::CreateNamespaceRequest {
    v1::CreateNamespaceRequest {
        name: NAMESPACE.to_owned(),
        r#type: "fixed".to_owned(),
        shard_num: shards as u64,
        settings: mode("ring"),
        ..Default::default()
    }
}

fn mode(name: &str) -> std::collections::HashMap<String, String> {
    [("load_balancing_mode".to_owned(), name.to_owned())].into()
}

async fn switch(url: &str, name: &str) -> Result<()> {
    let request =
        v1::UpdateSettingsRequest { namespace: NAMESPACE.to_owned(), settings: mode(name) };
    admin(url)?.update_settings(request).await?;
    Ok(())
}

async fn moves(namespace: &Arc<NamespaceHandle>) -> Result<u64> {
    Ok(namespace.read(|_, it| it.stats().moves).await?)
}

async fn until_all_own(namespace: &Arc<NamespaceHandle>, shards: usize) -> Result<()> {
    let begun = Instant::now();
    while namespace.read(|_, it| it.routes().count()).await? < shards {
        ensure!(begun.elapsed() < PATIENCE, "the executors did not start all shards");
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn until_calm(namespace: &Arc<NamespaceHandle>) -> Result<()> {
    let begun = Instant::now();
    let (mut last, mut since) = (moves(namespace).await?, Instant::now());
    while since.elapsed() < CALM {
        ensure!(begun.elapsed() < PATIENCE, "shards are still moving after {PATIENCE:?}");
        sleep(Duration::from_millis(100)).await;
        let now = moves(namespace).await?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}

/// Executors that do not get the cores they ask for all use what there is, and
/// look even.
fn undisturbed(cores: &[f64], asked: f64) -> Result<()> {
    let had: f64 = cores.iter().sum();
    ensure!(
        had >= 0.9 * asked,
        "the executors had {had:.2} of the {asked:.2} cores they burn: run this with nothing else \
         running, or with fewer --cores"
    );
    Ok(())
}

/// The executors; they end with this.
struct Crew {
    names: Vec<String>,
    children: Vec<Child>,
}

impl Crew {
    fn start(url: &str, options: &Options) -> Result<Self> {
        let names: Vec<String> = (0..options.executors).map(|n| format!("host-{n}")).collect();
        let mut crew = Self { names, children: Vec::new() };
        for id in &crew.names {
            crew.children.push(start_burner(url, id, options.work)?);
        }
        Ok(crew)
    }

    /// The cores that each uses over a while.
    async fn cores(&self, window: Duration) -> Result<Vec<f64>> {
        let (begun, before) = (Instant::now(), self.seconds()?);
        sleep(window).await;
        let (took, after) = (begun.elapsed().as_secs_f64(), self.seconds()?);
        Ok(after.iter().zip(before).map(|(after, before)| (after - before) / took).collect())
    }

    fn seconds(&self) -> Result<Vec<f64>> {
        self.children.iter().map(|child| cpu_seconds(child.id())).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended by itself is as good.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn start_burner(url: &str, id: &str, work: Work) -> Result<Child> {
    let lab = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(lab);
    command.args(["burner", "--server", url, "--namespace", NAMESPACE, "--id", id]);
    command.args(["--shards", &work.shards.to_string(), "--cores", &work.cores.to_string()]);
    command.args(["--seed", &work.seed.to_string()]);
    command.spawn().context("cannot start an executor")
}

/// What a process has used so far: fields 14 and 15 of its stat, counted after
/// the name in parentheses, which may hold anything.
fn cpu_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let (_, fields) = text.rsplit_once(')').with_context(|| format!("{path} is odd"))?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (ticks(11), ticks(12));
    Ok((user.unwrap_or(0.0) + system.unwrap_or(0.0)) / TICKS)
}

fn report(
    options: &Options,
    crew: &Crew,
    before: &[f64],
    after: &[f64],
    moves: u64,
) -> Result<Report> {
    let title = format!(
        "{} shards on {} processes: cores used by each, from /proc, placed by the ring and then by {}.",
        options.work.shards, options.executors, options.mode
    );
    let mut report = Report::new(title, &["executor", "ring", "balanced"]);
    for ((executor, &cores_before), &cores_after) in crew.names.iter().zip(before).zip(after) {
        let cells =
            vec![executor.clone(), format!("{cores_before:.3}"), format!("{cores_after:.3}")];
        report.line(cells, Record { executor, cores_before, cores_after })?;
    }
    let (early, late) = (Balance::of(before, 1.0), Balance::of(after, 1.0));
    let summary = Summary {
        mode: &options.mode,
        max_over_mean_before: early.max_over_mean(),
        max_over_mean_after: late.max_over_mean(),
        bound_max_over_mean: lower_bound(options.work.loads()?, options.executors).max_over_mean,
        spread_points_before: early.spread * 100.0,
        spread_points_after: late.spread * 100.0,
        moves,
    };
    report.notes.push(format!(
        "hottest over mean {:.3} before, {:.3} after (least possible {:.3}); spread {:.1} and {:.1} points; {} moves",
        summary.max_over_mean_before,
        summary.max_over_mean_after,
        summary.bound_max_over_mean,
        summary.spread_points_before,
        summary.spread_points_after,
        summary.moves
    ));
    report.json.push(serde_json::to_value(&summary)?);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_the_cpu() {
        let begun = std::time::Instant::now();
        while cpu_seconds(std::process::id()).unwrap() <= 0.0 {
            assert!(begun.elapsed() < PATIENCE);
            std::hint::black_box((0..1_000_000u64).sum::<u64>());
        }
    }

    #[test]
    fn a_machine_that_is_busy_with_something_else_is_refused() {
        assert!(undisturbed(&[0.3, 0.3, 0.25], 0.9).is_ok());
        let message = undisturbed(&[0.2, 0.2], 0.9).unwrap_err().to_string();
        assert!(message.starts_with("the executors had 0.40 of the 0.90 cores"), "{message}");
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(cpu_seconds(u32::MAX).is_err());
    }
}
