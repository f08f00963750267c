//! The language of scenarios, one command a line:
//!
//! ```text
//! mode naive                      ring, naive, adaptive or greedy (the default)
//! set move_budget_proportion 0.1  a number, or seconds
//! executor host-1 drained         open (the default), drained, leaving, silent
//! executor host-2 open 3          a new one, open for 3 seconds
//! shard orders host-1 5           owner (- for none), load (? for unmeasured),
//! shard users - 5/7 fixed         smoothed/reported, then `fixed` or
//! shard mail host-1 2 moved 30    seconds since it moved
//! shard feed host-1 9 noise 3     deviation of its smoothed load
//! shards host-1 5 3 2             several, with keys host-1.1, host-1.2, ...
//! wait 61                         seconds
//! plan                            full (the default), forced, frozen; applied
//! rest                            full plans, a minute apart, until none moves
//! ```

use std::fmt::Write;
use std::time::Duration;

use plimsoll_placement::plan;
use plimsoll_placement::plan::{Plan, Report, Scope};
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::ring::key_hash;
use plimsoll_placement::time::Time;
use plimsoll_placement::view::{Candidacy, ExecutorIndex, ExecutorView, Load, ShardView, View};

use crate::rest::apply;

/// What the commands of a script print.
pub(super) fn play(script: &str) -> String {
    let policy = Policy { mode: Mode::Greedy, ..Policy::default() };
    let mut stage = Stage { now: Time::from_millis(1_000_000), policy, ..Stage::default() };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        stage.command(line);
    }
    stage.output
}

#[derive(Default)]
struct Stage {
    now: Time,
    view: View,
    keys: Vec<String>,
    policy: Policy,
    output: String,
}

impl Stage {
    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words {
            ["#", ..] => self.print(line),
            ["mode", mode] => self.policy.mode = Mode::parse(mode).unwrap(),
            ["set", key, value] => self.set(key, value.parse().unwrap()),
            ["executor", id] => self.executor(id, "open"),
            ["executor", id, candidacy] => self.executor(id, candidacy),
            ["executor", id, candidacy, seconds] => {
                self.executor(id, candidacy);
                let opened_at = Some(self.seconds_ago(seconds.parse().unwrap()));
                self.view.executors.last_mut().unwrap().opened_at = opened_at;
            }
            ["shard", key, owner, load, ref rest @ ..] => self.shard(key, owner, load, rest),
            ["shards", owner, ref loads @ ..] => self.shards(owner, loads),
            ["wait", seconds] => self.now += Duration::from_secs(seconds.parse().unwrap()),
            ["plan"] => self.plan(Scope::Full),
            ["plan", "forced"] => self.plan(Scope::Forced),
            ["plan", "frozen"] => self.plan(Scope::Frozen),
            ["rest"] => self.rest(),
            _ => panic!("no such command: {line}"),
        }
    }

    fn print(&mut self, line: &str) {
        self.output.push_str(line);
        self.output.push('\n');
    }

    fn set(&mut self, key: &str, value: f64) {
        let Policy { mode, naive, greedy, adaptive } = &mut self.policy;
        match key {
            "move_budget_proportion" if *mode == Mode::Adaptive => {
                adaptive.move_budget_proportion = value;
            }
            "max_deviation" => naive.max_deviation = value,
            "per_shard_cooldown" => greedy.per_shard_cooldown = Duration::from_secs_f64(value),
            "move_budget_proportion" => greedy.move_budget_proportion = value,
            "hysteresis_upper_band" => greedy.hysteresis_upper_band = value,
            "hysteresis_lower_band" => greedy.hysteresis_lower_band = value,
            "severe_imbalance_ratio" => greedy.severe_imbalance_ratio = value,
            _ => panic!("no such setting: {key}"),
        }
    }

    fn executor(&mut self, id: &str, candidacy: &str) {
        let candidacy = match candidacy {
            "open" => Candidacy::Open,
            "drained" => Candidacy::Drained,
            "leaving" => Candidacy::Leaving,
            "silent" => Candidacy::Silent,
            _ => panic!("no such candidacy: {candidacy}"),
        };
        match self.view.executors.iter_mut().find(|executor| &*executor.id == id) {
            Some(executor) => executor.candidacy = candidacy,
            None => self.view.executors.push(ExecutorView::new(id, candidacy)),
        }
    }

    fn shards(&mut self, owner: &str, loads: &[&str]) {
        for (number, load) in (1..).zip(loads) {
            self.shard(&format!("{owner}.{number}"), owner, load, &[]);
        }
    }

    fn shard(&mut self, key: &str, owner: &str, load: &str, rest: &[&str]) {
        let moved_at = match *rest {
            ["moved", seconds] => Some(self.seconds_ago(seconds.parse().unwrap())),
            [] | ["fixed"] | ["noise", _] => None,
            _ => panic!("neither `fixed`, nor `moved` or `noise` and a number: {rest:?}"),
        };
        let mut ids = self.view.executors.iter().map(|executor| &*executor.id);
        let owner =
            (owner != "-").then(|| ExecutorIndex(ids.position(|id| id == owner).unwrap() as u32));
        let (mut load, fixed) = (parse_load(load), *rest == ["fixed"]);
        if let (["noise", deviation], Some(load)) = (rest, &mut load) {
            load.variance = deviation.parse::<f64>().unwrap().powi(2);
        }
        self.keys.push(key.into());
        let shard = ShardView { owner, load, moved_at, fixed, ..ShardView::new(key_hash(key)) };
        self.view.shards.push(shard);
    }

    fn seconds_ago(&self, seconds: u64) -> Time {
        Time::from_nanos(self.now.as_nanos() - seconds * 1_000_000_000)
    }

    fn plan(&mut self, scope: Scope) {
        let plan = plan(self.now, &self.view, &self.policy, scope);
        self.print(&format!("> {scope:?} plan"));
        self.print_plan(&plan);
        apply(&mut self.view, &plan, self.now);
        self.print_loads();
    }

    fn rest(&mut self) {
        loop {
            let plan = plan(self.now, &self.view, &self.policy, Scope::Full);
            self.print(&format!(
                "> at {} s",
                self.now.since(Time::from_millis(1_000_000)).as_secs()
            ));
            self.print_plan(&plan);
            apply(&mut self.view, &plan, self.now);
            if plan.moves.is_empty() {
                break;
            }
            self.now += Duration::from_secs(60);
        }
        self.print_loads();
    }

    fn print_plan(&mut self, plan: &Plan) {
        let id = |executor: ExecutorIndex| &*self.view.executors[executor.0 as usize].id;
        let Report { before, after, held, unplaced, stopped, bound: _ } = &plan.report;
        let mut lines: Vec<String> = Vec::new();
        for step in &plan.moves {
            let key = &self.keys[step.shard.0 as usize];
            lines.push(step.sentence(key, step.from.map(id), id(step.to)));
        }
        lines.extend(held.iter().map(|h| h.sentence(id(h.executor), after.mean, &self.policy)));
        if *unplaced > 0 {
            lines.push(format!("{unplaced} shards have nowhere to go: no executor is open"));
        }
        lines.extend(stopped.map(|reason| reason.sentence(after, &self.policy)));
        let measures = [before, after].map(|b| (b.max_over_mean(), b.spread * 100.0));
        let [(max, spread), (max_after, spread_after)] = measures;
        lines.push(format!(
            "max/mean {max:.3} -> {max_after:.3}, spread {spread:.2} -> {spread_after:.2}"
        ));
        for line in lines {
            self.print(&format!("  {line}"));
        }
    }

    fn print_loads(&mut self) {
        let mut line = String::from("  now");
        for (number, executor) in (0u32..).zip(&self.view.executors) {
            let mine = |shard: &&ShardView| shard.owner == Some(ExecutorIndex(number));
            let loads = self.view.shards.iter().filter(mine).map(|shard| shard.load);
            let known: f64 = loads.clone().flatten().fold(0.0, |sum, load| sum + load.smoothed);
            write!(line, " {}: {} in {}", executor.id, known, loads.count()).unwrap();
            line.push(',');
        }
        self.print(line.trim_end_matches(','));
    }
}

fn parse_load(text: &str) -> Option<Load> {
    let (smoothed, reported) = text.split_once('/').unwrap_or((text, text));
    let number = |text: &str| text.parse::<f64>().unwrap();
    (text != "?").then(|| Load { reported: number(reported), ..Load::exactly(number(smoothed)) })
}
