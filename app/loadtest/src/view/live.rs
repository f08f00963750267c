//! The run on stderr: a bar with the callers under it on a terminal, a line a second
//! elsewhere.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{grouped, millis, percent};
use crate::caller::Caller;
use crate::observe::{Observer, Progress};

const TEMPLATE: &str = "{bar:40.cyan/dim} {msg}";

/// A view that redraws itself on a terminal.
#[derive(Debug)]
pub struct Screen {
    bar: ProgressBar,
    callers: Vec<String>,
}

impl Screen {
    /// Starts drawing on stderr.
    pub fn new(callers: &[Caller], planned: Duration) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps(planned)), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self { bar, callers: callers.iter().map(|caller| caller.name.clone()).collect() }
    }
}

impl Observer for Screen {
    fn progress(&mut self, progress: &Progress) {
        self.bar.set_position(steps(progress.elapsed.min(progress.planned)));
        self.bar.set_message(line(progress) + &by_caller(&self.callers, progress));
    }
}

impl Drop for Screen {
    /// Leaves the terminal to the report.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
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
        eprintln!("{}", line(progress));
    }
}

fn line(progress: &Progress) -> String {
    let counts = &progress.recent.counts;
    let seconds = progress.elapsed.as_secs();
    let other = counts.ended() - counts.ok - counts.shed;
    let mut text = format!("{seconds:>4} s of {}", progress.planned.as_secs());
    if progress.elapsed > progress.planned {
        text += ", waiting for answers";
    }
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "  offered {:.0}/s  ok {:.0}/s  shed {}  other {}  p50 {} ms  p99 {} ms  in flight {}  lag p99 {} ms",
        progress.recent.offered_rate,
        progress.recent.ok_rate,
        grouped(counts.shed),
        grouped(other),
        millis(progress.recent.latency.map(|times| times.p50_ms)),
        millis(progress.recent.latency.map(|times| times.p99_ms)),
        grouped(progress.in_flight),
        millis(progress.lag_p99_ms),
    );
    text
}

fn by_caller(names: &[String], progress: &Progress) -> String {
    let mut text = String::new();
    for (name, counts) in names.iter().zip(&progress.callers) {
        let ended = counts.ended();
        let _ = write!(
            text,
            "\n  {name:<24} ok {:>6} %  shed {:>6} %",
            percent(counts.ok, ended),
            percent(counts.shed, ended),
        );
    }
    text
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
    fn a_line_says_what_happened_in_the_last_second() {
        assert_eq!(
            line(&progress()),
            "   3 s of 10  offered 100/s  ok 80/s  shed 200  other 0  p50 10.0 ms  p99 40.0 ms  in flight 1,234  lag p99 0.30 ms"
        );
        let waiting = Progress { elapsed: Duration::from_secs(11), ..progress() };
        assert!(line(&waiting).contains("waiting for answers"));
    }

    #[test]
    fn callers_have_their_shares_so_far() {
        let names = ["checkout".to_owned(), "batch".to_owned()];
        let text = by_caller(&names, &progress());
        assert!(text.contains("checkout                 ok 100.00 %  shed   0.00 %"), "{text}");
        assert!(text.contains("batch                    ok  60.00 %  shed  40.00 %"), "{text}");
    }
}
