//! One run: faults one after the other, each until all is well again, judged all
//! the while. It ends with the first violation: what comes after one proves
//! nothing.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_testkit::chaos::Moment;
use tokio::time::{interval, sleep};

use super::book::{Book, is_created};
use super::fault::{Dice, Kind, Schedule};
use super::gauges::Gauges;
use super::ground::Ground;
use super::inflict::{Mark, World};
use super::namespaces;
use super::operator::Operator;
use super::oracle::{Drain, Violation, judge};
use super::probe::Probe;
use super::report::{Report, Times, highest_rate, steady_rate};
use super::scene::Scene;
use super::story::Story;
use super::well::until_well;
use super::windows::{Window, effects, lost_outside};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How long the system is left alone at first, to see what it does at rest.
const REST: Duration = Duration::from_secs(4);
/// Faults that a drain is to outlast.
const DRAIN_OUTLASTS: usize = 2;

pub(super) struct Recipe {
    pub(super) seed: u64,
    pub(super) span: Duration,
    pub(super) kinds: Vec<Kind>,
    pub(super) plimsoll: PathBuf,
}

struct Run {
    scene: Scene,
    book: Book,
    story: Story,
    /// What the machine allowed.
    ground: String,
    operator: Operator,
    probe: Probe,
    gauges: Gauges,
    /// All was well for the first time.
    begun: Moment,
    drains: Vec<Drain>,
    /// Faults since the drains in force began.
    outlasted: usize,
    marks: Vec<Mark>,
    windows: Vec<Window>,
    told: Moment,
    writes_at_rest: f64,
    /// What went wrong that the oracle cannot see.
    failures: Vec<Violation>,
}

/// Runs to the end, or to the first violation.
pub(super) async fn run(recipe: &Recipe, folder: &Path, ground: Ground) -> Result<Report> {
    let mut run = Run::start(recipe, folder, ground).await?;
    if let Err(error) = run.go(recipe).await {
        run.failures.push(Violation { at: Moment::now(), what: format!("{error:#}") });
    }
    let report = run.report(recipe)?;
    report.violations.iter().for_each(|what| run.story.tell(&format!("VIOLATION at {what}")));
    run.story.write(&folder.join("story.txt"))?;
    Ok(report)
}

// === impl Run: the faults ===

impl Run {
    async fn start(recipe: &Recipe, folder: &Path, ground: Ground) -> Result<Self> {
        let (story, told_of_ground) = (Story::new(), ground.to_string());
        story.tell(&format!("seed {}", recipe.seed));
        story.tell(&told_of_ground);
        let scene = Scene::start(folder, &recipe.plimsoll, recipe.seed, ground).await?;
        let mut book = Book::of(Scene::records(folder));
        story.tell("all processes run");
        until_well(&mut book, &[], Moment::now()).await?;
        let before = writes(&scene).await?;
        sleep(REST).await;
        let writes_at_rest = (writes(&scene).await? - before) / REST.as_secs_f64();
        Ok(Self {
            operator: Operator::new(scene.net)?,
            probe: Probe::start(scene.net)?,
            gauges: Gauges::start(scene.net),
            scene,
            book,
            story,
            ground: told_of_ground,
            begun: Moment::now(),
            drains: Vec::new(),
            outlasted: 0,
            marks: Vec::new(),
            windows: Vec::new(),
            told: Moment::now(),
            writes_at_rest,
            failures: Vec::new(),
        })
    }

    async fn go(&mut self, recipe: &Recipe) -> Result<()> {
        let mut schedule = Schedule::new(recipe.kinds.clone(), recipe.seed);
        sleep(REST).await;
        while self.begun.elapsed() < recipe.span {
            let (kind, dice) = schedule.next().context("no faults to inflict")?;
            self.one(kind, dice).await.with_context(|| format!("fault {kind}"))?;
            if !judge(&self.book, &self.drains).is_empty() {
                return Ok(());
            }
            self.lift_old_drains(DRAIN_OUTLASTS).await?;
        }
        self.lift_old_drains(0).await
    }

    async fn one(&mut self, kind: Kind, dice: Dice) -> Result<()> {
        let from = Moment::now();
        self.story.tell(&format!("{kind}: {}", kind.what()));
        self.inflict(kind, dice).await?;
        let mended = Moment::now();
        let well = until_well(&mut self.book, &self.drains, mended).await?;
        self.windows.push(Window { kind, from, mended, well, to: Moment::now() });
        self.story
            .tell_of(well, &format!("  every shard has an owner after {:.1?}", well - mended));
        let dead = self.scene.dead();
        ensure!(dead.is_empty(), "ended without being told to: {}", dead.join(", "));
        Ok(())
    }

    async fn inflict(&mut self, kind: Kind, dice: Dice) -> Result<()> {
        let Self { scene, story, operator, drains, marks, book, told, .. } = self;
        let world = World { scene, story, operator, drains, marks, dice };
        let mut inflicting = std::pin::pin!(world.inflict(kind));
        let mut look = interval(LOOK_EVERY);
        loop {
            tokio::select! {
                done = &mut inflicting => return done,
                _ = look.tick() => {
                    book.read()?;
                    tell_progress(book, story, told);
                }
            }
        }
    }

    /// Takes drains back that so many faults have come after.
    async fn lift_old_drains(&mut self, faults: usize) -> Result<()> {
        let in_force = self.drains.iter().any(|drain| drain.to.is_none());
        self.outlasted = if in_force { self.outlasted + 1 } else { 0 };
        if !in_force || self.outlasted <= faults {
            return Ok(());
        }
        for drain in self.drains.iter_mut().filter(|drain| drain.to.is_none()) {
            drain.to = Some(Moment::now());
            self.operator.lift(&drain.of).await?;
            self.story.tell(&format!("no longer drained: {:?}", drain.of));
        }
        until_well(&mut self.book, &self.drains, Moment::now()).await.map(drop)
    }
}

// === impl Run: what it has shown ===

impl Run {
    fn report(&mut self, recipe: &Recipe) -> Result<Report> {
        self.book.read()?;
        let mut violations = judge(&self.book, &self.drains);
        violations.append(&mut self.failures);
        let told = |it: &Violation| format!("{:.3} s: {}", self.story.seconds(it.at), it.what);
        let effects = effects(&self.book, &self.windows);
        let harmless = || effects.iter().filter(|effect| effect.moves_nothing);
        let (moved, ended) = (harmless().map(|it| it.moves), harmless().map(|it| it.leases));
        let granted = self.probe.granted();
        let rates = self.gauges.rates();
        let (requests_most, requests_most_by) = highest_rate(&rates, &self.windows);
        Ok(Report {
            seed: recipe.seed,
            ground: self.ground.clone(),
            seconds: self.begun.elapsed().as_secs_f64(),
            faults: self.windows.len(),
            moves_by_leader_changes: moved.sum(),
            leases_by_leader_changes: ended.sum(),
            effects,
            checks: self.book.checks,
            violations: violations.iter().map(told).collect(),
            answered: self.book.answered,
            lost: self.book.losses.iter().filter(|loss| loss.due >= self.begun).count(),
            lost_without_fault: lost_outside(&self.book, self.begun, &self.windows),
            refused_drained: self.book.drained,
            kill_to_grant: Times::after_kills(&self.marks, &granted),
            leave_to_grant: Times::while_leaving(&self.marks, &granted),
            requests_steady: steady_rate(&rates, &self.windows),
            requests_most,
            requests_most_by,
            etcd_writes_at_rest: self.writes_at_rest,
            torn_lines: self.book.torn,
        })
    }
}

/// What etcd has agreed to write so far.
async fn writes(scene: &Scene) -> Result<f64> {
    scene.etcd[0].figure("etcd_server_proposals_committed_total").await
}

fn tell_progress(book: &Book, story: &Story, told: &mut Moment) {
    let every = if std::io::stderr().is_terminal() { LOOK_EVERY } else { TELL_EVERY };
    if told.elapsed() < every {
        return;
    }
    *told = Moment::now();
    let owned = book.owned().iter().filter(|(_, shard)| !is_created(shard)).count();
    let (all, answered) = (namespaces::shards().count(), book.answered);
    let (lost, checks) = (book.losses.len(), book.checks);
    story.progress(&format!(
        "{owned} of {all} shards owned, {answered} requests answered, {lost} lost, {checks} checks"
    ));
}
