//! Meta's solver, the one that places shards for Facebook's Shard Manager, on
//! the same input: PyPI package `rebalancer`, in a virtual environment that is
//! made under the target folder when it is first asked for.
//!
//! What is measured is the solver's own time, from an empty problem to the
//! answer, without starting Python.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use plimsoll_placement::view::{ExecutorIndex, ShardIndex, View};
use serde::{Deserialize, Serialize};

use crate::world::{Step, shard_loads};

/// The version that the figures in docs/results-balance.md are from.
const PACKAGE: &str = "rebalancer==1.0.4";

/// Pythons that the package has wheels for, newest first, and whatever is
/// called `python3`.
const PYTHONS: [&str; 4] = ["python3.14", "python3.13", "python3.12", "python3"];

const SCRIPT: &str = include_str!("meta/solve.py");

/// A virtual environment with the solver in it.
#[derive(Clone, Debug)]
pub struct Meta {
    folder: PathBuf,
}

/// How the solver is asked to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Whether two shards may change places in one move.
    pub swap: bool,
    /// When it must stop, in seconds.
    pub seconds: u32,
    /// How many moves it may make.
    pub most_moves: Option<usize>,
}

#[derive(Serialize)]
struct Problem {
    hosts: usize,
    owners: Vec<u32>,
    loads: Vec<f64>,
    swap: bool,
    seconds: u32,
    most_moves: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    owners: Vec<u32>,
    seconds: f64,
}

impl Meta {
    /// The environment under the target folder, made if it is not there.
    ///
    /// # Errors
    ///
    /// No Python from 3.12 on was found, or the package cannot be installed.
    pub fn prepare(python: Option<&Path>) -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
        let meta = Self { folder: target.join("rebalancer") };
        if !meta.works() {
            meta.install(python)?;
        }
        Ok(meta)
    }

    fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    fn works(&self) -> bool {
        let mut import = Command::new(self.python());
        import.args(["-c", "import rebalancer"]).stdout(Stdio::null()).stderr(Stdio::null());
        import.status().is_ok_and(|status| status.success())
    }

    fn install(&self, python: Option<&Path>) -> Result<()> {
        let python = match python {
            Some(python) => python.to_owned(),
            None => newest_python()?,
        };
        eprintln!("installing {PACKAGE} under {} ...", self.folder.display());
        let mut venv = Command::new(&python);
        run(venv.args(["-m", "venv", "--clear"]).arg(&self.folder))?;
        let mut pip = Command::new(self.python());
        run(pip.args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
        ensure!(
            self.works(),
            "{PACKAGE} is installed and cannot be imported: see `{} -c 'import rebalancer'`",
            self.python().display()
        );
        Ok(())
    }

    /// Where the solver would put shards, and how long it took.
    ///
    /// # Errors
    ///
    /// A shard has no owner, or the solver failed.
    pub fn solve(&self, view: &View, search: Search) -> Result<(Vec<Step>, Duration)> {
        let problem = problem(view, search)?;
        let script = self.folder.join("solve.py");
        let answer = self.folder.join(format!("answer-{}.json", std::process::id()));
        std::fs::write(&script, SCRIPT).context("cannot write the solver's script")?;
        ask(&self.python(), &script, &answer, &serde_json::to_vec(&problem)?)?;
        let text = std::fs::read(&answer).context("cannot read the solver's answer")?;
        std::fs::remove_file(&answer).context("cannot remove the solver's answer")?;
        let answer: Answer = serde_json::from_slice(&text).context("cannot read the answer")?;
        let took = Duration::try_from_secs_f64(answer.seconds).context("a time below zero")?;
        Ok((steps(&problem.owners, &answer.owners), took))
    }
}

fn newest_python() -> Result<PathBuf> {
    const NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 12))";
    let is_new_enough = |name: &&&str| {
        let mut check = Command::new(**name);
        check.args(["-c", NEW_ENOUGH]).stderr(Stdio::null());
        check.status().is_ok_and(|status| status.success())
    };
    match PYTHONS.iter().find(is_new_enough) {
        Some(name) => Ok(name.into()),
        None => {
            bail!("{PACKAGE} needs Python 3.12 or later: install one, or name it with --python")
        }
    }
}

fn problem(view: &View, search: Search) -> Result<Problem> {
    let owner = |shard: &plimsoll_placement::view::ShardView| Some(shard.owner?.0);
    let owners: Option<Vec<u32>> = view.shards.iter().map(owner).collect();
    Ok(Problem {
        hosts: view.executors.len(),
        owners: owners.context("a shard has no owner: the solver starts from a placement")?,
        loads: shard_loads(view),
        swap: search.swap,
        seconds: search.seconds,
        most_moves: search.most_moves,
    })
}

fn ask(python: &Path, script: &Path, answer: &Path, problem: &[u8]) -> Result<()> {
    let mut solver = Command::new(python);
    solver.arg(script).arg(answer);
    solver.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = solver.spawn().with_context(|| format!("cannot start {}", python.display()))?;
    let mut stdin = child.stdin.take().context("the solver has no standard input")?;
    stdin.write_all(problem).context("the solver does not read its problem")?;
    drop(stdin);
    finished(&child.wait_with_output().context("cannot wait for the solver")?, "the solver")
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    finished(&output, &program)
}

fn finished(output: &std::process::Output, who: &str) -> Result<()> {
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("it said nothing");
    ensure!(output.status.success(), "{who} failed: {last}");
    Ok(())
}

fn steps(before: &[u32], after: &[u32]) -> Vec<Step> {
    let shards = (0u32..).map(ShardIndex).zip(before.iter().zip(after));
    let moved = shards.filter(|(_, (from, to))| from != to);
    moved.map(|(shard, (_, &to))| Step { shard, to: ExecutorIndex(to) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::view;

    const SEARCH: Search = Search { swap: false, seconds: 20, most_moves: Some(2) };

    #[test]
    fn a_problem_names_every_owner_and_load() {
        let problem = problem(&view(&[&[3.0, 1.0], &[2.0]]), SEARCH).unwrap();
        assert_eq!((problem.hosts, problem.owners), (2, vec![0, 0, 1]));
        assert_eq!(problem.loads, [3.0, 1.0, 2.0]);
    }

    #[test]
    fn a_shard_without_an_owner_is_refused() {
        let mut view = view(&[&[3.0], &[2.0]]);
        view.shards[1].owner = None;
        assert!(problem(&view, SEARCH).is_err());
    }

    #[test]
    fn an_answer_is_what_changed() {
        let expected = Step { shard: ShardIndex(1), to: ExecutorIndex(2) };
        assert_eq!(steps(&[0, 0, 1], &[0, 2, 1]), [expected]);
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_last_words() {
        let mut command = Command::new("sh");
        let error = run(command.args(["-c", "echo first >&2; echo last words >&2; exit 3"]));
        assert_eq!(error.unwrap_err().to_string(), "sh failed: last words");
    }
}
