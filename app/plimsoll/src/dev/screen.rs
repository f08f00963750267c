//! The live view: hosts as bars against the bands, and the figures below.

use std::time::Duration;

use anyhow::Result;
use plimsoll_placement::policy::Mode;
use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::report::{Report, Reporter};
use super::{REFRESH, end};

/// Host loads are drawn up to this many times the mean, at least.
const SCALE: f64 = 2.0;
/// Columns of a host's name and figures.
const LABEL: usize = 24;

/// Shows the state until the time is over or somebody presses q.
pub(super) async fn show(
    cluster: &Cluster,
    reporter: &mut Reporter,
    start: &Report,
    ends_at: Option<Instant>,
) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    let shown = draw_until(&mut terminal, cluster, reporter, start, ends_at).await;
    ratatui::restore();
    shown
}

async fn draw_until(
    terminal: &mut DefaultTerminal,
    cluster: &Cluster,
    reporter: &mut Reporter,
    start: &Report,
    ends_at: Option<Instant>,
) -> Result<()> {
    let mut frames = tokio::time::interval(REFRESH);
    let addresses = cluster.addresses();
    loop {
        tokio::select! {
            _ = frames.tick() => {}
            () = end(ends_at) => return Ok(()),
        }
        if wants_to_leave()? {
            return Ok(());
        }
        let report = reporter.report().await?;
        terminal.draw(|frame| draw(frame, &addresses, start, &report))?;
    }
}

/// Whether a key was pressed that ends the view. Never waits.
fn wants_to_leave() -> Result<bool> {
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()? {
            let interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
            match key.code {
                KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Ok(true),
                KeyCode::Char('c') if interrupt => return Ok(true),
                _ => {}
            }
        }
    }
    Ok(false)
}

fn draw(frame: &mut Frame<'_>, addresses: &str, start: &Report, report: &Report) {
    let rows = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(report.conditions.len().min(3) as u16),
        Constraint::Length(3),
    ]);
    let [head, hosts, conditions, foot] = rows.areas(frame.area());
    frame.render_widget(Paragraph::new(addresses), head);
    draw_hosts(frame, hosts, report);
    let notes = report.conditions.iter().take(3).map(|text| Line::from(text.as_str()).yellow());
    frame.render_widget(Paragraph::new(notes.collect::<Vec<_>>()), conditions);
    frame.render_widget(Paragraph::new(figures(start, report)), foot);
}

trait Yellow {
    fn yellow(self) -> Self;
}

impl Yellow for Line<'_> {
    fn yellow(self) -> Self {
        self.style(Style::new().fg(Color::Yellow))
    }
}

/// One line a host, the hottest first; the rest is counted if there is no room.
fn draw_hosts(frame: &mut Frame<'_>, area: Rect, report: &Report) {
    let mut hosts: Vec<_> = report.hosts.iter().collect();
    hosts.sort_by(|a, b| b.load.total_cmp(&a.load).then(a.executor_id.cmp(&b.executor_id)));
    let room = usize::from(area.height);
    let width = usize::from(area.width).saturating_sub(LABEL + 10);
    let mut lines: Vec<_> = hosts.iter().take(room).map(|host| bar(host, width, report)).collect();
    if hosts.len() > room && room > 0 {
        lines[room - 1] = Line::from(format!("... and {} more", hosts.len() - room + 1));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn bar(host: &plimsoll_wire::v1::ExecutorLoad, width: usize, report: &Report) -> Line<'static> {
    let (upper, lower) = bands(report);
    let mean = report.balance.mean;
    let share = if mean > 0.0 { host.load / host.capacity / mean } else { 0.0 };
    let scale = report.balance.max_over_mean.max(SCALE);
    let column = |x: f64| ((x / scale) * width as f64).round() as usize;
    let cells = (0..width).map(|at| {
        let mark = at == column(upper) || at == column(lower);
        match (at < column(share), mark) {
            (_, true) => '|',
            (true, false) => '█',
            (false, false) => ' ',
        }
    });
    let name: String = host.executor_id.chars().take(12).collect();
    let label = format!("{name:<12} {:>4} sh  ", host.shards);
    Line::from(vec![
        Span::raw(format!("{label:<LABEL$}")),
        Span::styled(cells.collect::<String>(), Style::new().fg(colour(share, upper, lower))),
        Span::raw(format!(" {share:>6.2}")),
        Span::styled(status(&host.status), Style::new().fg(Color::Yellow)),
    ])
}

fn status(status: &str) -> String {
    if status == "active" { String::new() } else { format!(" {status}") }
}

/// The adaptive planner has no bands to set: what is within 5 % of the mean passes
/// for even.
fn bands(report: &Report) -> (f64, f64) {
    if report.mode() == Some(Mode::Adaptive) {
        return (1.05, 0.95);
    }
    let setting = |name: &str| report.setting(&format!("load_balancing_greedy.{name}"));
    (
        setting("hysteresis_upper_band").unwrap_or(1.15),
        setting("hysteresis_lower_band").unwrap_or(0.9),
    )
}

fn colour(share: f64, upper: f64, lower: f64) -> Color {
    if share > upper {
        Color::Red
    } else if share < lower {
        Color::Blue
    } else {
        Color::Green
    }
}

fn figures(start: &Report, report: &Report) -> Vec<Line<'static>> {
    let (from, to, tally) = (&start.balance, &report.balance, &report.tally);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let even = format!(
        "spread {:.2} % -> {:.2} %   max/mean {:.3} -> {:.3}   moves {}",
        from.spread * 100.0,
        to.spread * 100.0,
        from.max_over_mean,
        to.max_over_mean,
        report.moves,
    );
    let requests = format!(
        "requests {}   wrong owner {}   failed {}   double owners {}",
        tally.requests, tally.wrong_owner, tally.failed, report.double_owners,
    );
    vec![
        Line::from(Span::styled(even, bold)),
        Line::from(Span::styled(requests, bold)),
        Line::from("| = bands (lower, upper)   q or Esc quits"),
    ]
}
