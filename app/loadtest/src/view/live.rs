//! The run on stderr: a bar with the callers under it on a terminal, a line a second
//! elsewhere.

use std::io::Write as _;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{grouped, millis, percent};
use crate::caller::Caller;
use crate::observe::{Observer, Progress};

/// Both end at the edge of the terminal, whatever its width.
const BAR: &str = "{wide_bar:.cyan/dim} {msg}";
const LINE: &str = "{wide_msg}";

/// A view that redraws itself on a terminal.
#[derive(Debug)]
pub struct Screen {
    all: MultiProgress,
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
    callers: Vec<String>,
}

impl Screen {
    /// Starts drawing on stderr.
    pub fn new(callers: &[Caller], planned: Duration) -> Self {
        let all = MultiProgress::new();
        let add = |template, steps| {
            let bar = all.add(ProgressBar::new(steps));
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        };
        let bar = add(BAR, steps(planned));
        // The rates, the times, and a line a caller.
        let lines = (0..2 + callers.len()).map(|_| add(LINE, 0)).collect();
        Self { all, bar, lines, callers: callers.iter().map(|it| it.name.clone()).collect() }
    }
}

impl Observer for Screen {
    fn progress(&mut self, progress: &Progress) {
        self.bar.set_position(steps(progress.elapsed.min(progress.planned)));
        self.bar.set_message(clock(progress));
        let texts = [rates(progress), times(progress)].into_iter();
        let texts = texts.chain(by_caller(&self.callers, progress));
        self.lines.iter().zip(texts).for_each(|(line, text)| line.set_message(text));
    }
}

impl Drop for Screen {
    /// Leaves the terminal to the report.
    fn drop(&mut self) {
        // Only a terminal that is gone cannot be cleared.
        let _ = self.all.clear();
    }
}

fn steps(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A line a second on stderr.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines;

impl Observer for Lines {
    fn progress(&mut self, progress: &Progress) {
        let line = format!("{}  {}  {}", clock(progress), rates(progress), times(progress));
        // Whoever has stopped reading misses nothing of the run.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

fn clock(progress: &Progress) -> String {
    let seconds = progress.elapsed.as_secs();
    let mut text = format!("{seconds:>4} s of {}", progress.planned.as_secs());
    if progress.elapsed > progress.planned {
        text += ", waiting for answers";
    }
    text
}

fn rates(progress: &Progress) -> String {
    let counts = &progress.recent.counts;
    format!(
        "offered {:.0}/s  ok {:.0}/s  shed {}  other {}",
        progress.recent.offered_rate,
        progress.recent.ok_rate,
        grouped(counts.shed),
        grouped(counts.ended() - counts.ok - counts.shed),
    )
}

fn times(progress: &Progress) -> String {
    format!(
        "p50 {} ms  p99 {} ms  in flight {}  lag p99 {} ms",
        millis(progress.recent.latency.map(|times| times.p50_ms)),
        millis(progress.recent.latency.map(|times| times.p99_ms)),
        grouped(progress.in_flight),
        millis(progress.lag_p99_ms),
    )
}

fn by_caller(names: &[String], progress: &Progress) -> Vec<String> {
    let line = |(name, counts): (&String, &crate::tally::Counts)| {
        let ended = counts.ended();
        format!(
            "  {name:<24} ok {:>6} %  shed {:>6} %",
            percent(counts.ok, ended),
            percent(counts.shed, ended),
        )
    };
    names.iter().zip(&progress.callers).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    fn progress() -> Progress {
        let report = example();
        Progress {
            elapsed: Duration::from_secs(3),
            planned: Duration::from_secs(10),
            rate: 100.0,
            in_flight: 1234,
            recent: report.total.clone(),
            total: report.total.counts,
            callers: report.callers.iter().map(|caller| caller.figures.counts).collect(),
            lag_p99_ms: Some(0.3),
        }
    }

    #[test]
    fn what_happened_in_the_last_second_fits_a_terminal() {
        let progress = progress();
        assert_eq!(clock(&progress), "   3 s of 10");
        assert_eq!(rates(&progress), "offered 100/s  ok 80/s  shed 200  other 0");
        let said = "p50 10.0 ms  p99 40.0 ms  in flight 1,234  lag p99 0.30 ms";
        assert_eq!(times(&progress), said);
        let waiting = Progress { elapsed: Duration::from_secs(11), ..progress };
        assert!(clock(&waiting).contains("waiting for answers"));
    }

    #[test]
    fn callers_have_their_shares_so_far() {
        let names = ["checkout".to_owned(), "batch".to_owned()];
        let lines = by_caller(&names, &progress());
        assert_eq!(lines[0], "  checkout                 ok 100.00 %  shed   0.00 %");
        assert_eq!(lines[1], "  batch                    ok  60.00 %  shed  40.00 %");
    }
}
