//! The live view: a picture a second, keys in between.
//!
//! A failed look keeps the last picture and says what is wrong; the next look
//! may succeed. The terminal is given back whatever happens.

use std::time::Duration;

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame as Screen};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::frame::Frame;
use super::picture::Picture;
use crate::server::Server;

const REFRESH: Duration = Duration::from_secs(1);

struct Live {
    picture: Picture,
    trouble: Option<String>,
    scroll: u16,
}

/// Shows pictures until `q` is pressed.
pub(super) async fn run(server: &Server, first: Picture, shards: u32) -> Result<()> {
    let mut terminal = ratatui::try_init().context("cannot take over the terminal")?;
    let live = Live { picture: first, trouble: None, scroll: 0 };
    let result = watch(&mut terminal, server, live, shards).await;
    ratatui::restore();
    result
}

async fn watch(
    terminal: &mut DefaultTerminal,
    server: &Server,
    mut live: Live,
    shards: u32,
) -> Result<()> {
    let mut events = events();
    let mut ticks = tokio::time::interval(REFRESH);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        terminal.draw(|screen| live.draw(screen))?;
        tokio::select! {
            _ = ticks.tick() => live.look(server, shards).await,
            event = events.recv() => match event {
                Some(Event::Key(key)) if quits(key) => return Ok(()),
                Some(Event::Key(key)) => live.scroll(key),
                Some(_) => {}
                None => return Ok(()),
            },
        }
    }
}

/// Reads the terminal on a thread of its own, which ends with the process.
fn events() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

fn quits(key: KeyEvent) -> bool {
    let interrupted =
        key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    interrupted || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

impl Live {
    async fn look(&mut self, server: &Server, shards: u32) {
        let name = self.picture.namespace.name.clone();
        match Picture::take(server, &name, shards).await {
            Ok(picture) => (self.picture, self.trouble) = (picture, None),
            Err(error) => self.trouble = Some(format!("{error:#}").replace('\n', "; ")),
        }
    }

    fn scroll(&mut self, key: KeyEvent) {
        let last = u16::try_from(self.picture.loads.executors.len()).unwrap_or(u16::MAX);
        self.scroll = match key.code {
            _ if key.kind == KeyEventKind::Release => self.scroll,
            KeyCode::Down | KeyCode::Char('j') => self.scroll.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll.saturating_add(10),
            KeyCode::PageUp => self.scroll.saturating_sub(10),
            _ => self.scroll,
        }
        .min(last.saturating_sub(1));
    }

    fn draw(&self, screen: &mut Screen<'_>) {
        let Frame { head, mut executors, shards } = Frame::of(&self.picture);
        let [top, middle, bottom, foot] = Layout::vertical([
            Constraint::Length(height(&head) + 1),
            Constraint::Min(3),
            Constraint::Length(height(&shards) + 1),
            Constraint::Length(1),
        ])
        .areas(screen.area());
        let below_heading = 1..executors.len().min(1 + usize::from(self.scroll));
        executors.drain(below_heading);
        screen.render_widget(Paragraph::new(head), top);
        screen.render_widget(Paragraph::new(executors), middle);
        let separated: Vec<Line<'_>> = std::iter::once(Line::default()).chain(shards).collect();
        screen.render_widget(Paragraph::new(separated), bottom);
        screen.render_widget(self.foot(), foot);
    }

    fn foot(&self) -> Text<'_> {
        match &self.trouble {
            Some(trouble) => Text::from(trouble.as_str().red()),
            None => Text::from("q quits, arrows scroll".dim()),
        }
    }
}

fn height(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX - 1)
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::v1::{Balance, DescribeNamespaceResponse, ExecutorLoad, GetLoadsResponse};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::picture::Bands;
    use super::*;

    fn live(executors: usize) -> Live {
        let executor = |number| ExecutorLoad {
            executor_id: format!("exec-{number}"),
            load: 10.0,
            status: "active".to_owned(),
            ..ExecutorLoad::default()
        };
        let picture = Picture {
            address: "a:1".to_owned(),
            namespace: DescribeNamespaceResponse { name: "demo".to_owned(), ..Default::default() },
            loads: GetLoadsResponse {
                balance: Some(Balance { mean: 10.0, ..Balance::default() }),
                executors: (0..executors).map(executor).collect(),
                ..GetLoadsResponse::default()
            },
            bands: Bands { lower: 0.9, upper: 1.15 },
        };
        Live { picture, trouble: None, scroll: 0 }
    }

    fn screen(live: &Live) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 10)).unwrap();
        terminal.draw(|screen| live.draw(screen)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn everything_has_its_place_on_a_small_screen() {
        let screen = screen(&live(2));
        for text in ["demo", "max/mean", "EXECUTOR", "exec-0", "exec-1", "HOTTEST SHARD", "q quits"]
        {
            assert!(screen.contains(text), "{text} is missing:\n{screen}");
        }
    }

    #[test]
    fn scrolling_keeps_the_heading_and_stops_at_the_last_executor() {
        let mut live = live(40);
        for _ in 0..10 {
            live.scroll(KeyEvent::from(KeyCode::PageDown));
        }
        let screen = screen(&live);
        assert!(screen.contains("EXECUTOR") && screen.contains("exec-39"), "{screen}");
        assert!(!screen.contains("exec-38"), "{screen}");
        live.scroll(KeyEvent::from(KeyCode::Up));
        assert_eq!(live.scroll, 38);
    }

    #[test]
    fn trouble_is_shown_instead_of_the_keys() {
        let mut live = live(1);
        live.trouble = Some("GetLoads: gone".to_owned());
        assert!(screen(&live).contains("GetLoads: gone"));
    }

    #[test]
    fn q_escape_and_control_c_quit() {
        assert!(quits(KeyEvent::from(KeyCode::Char('q'))) && quits(KeyEvent::from(KeyCode::Esc)));
        assert!(quits(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!quits(KeyEvent::from(KeyCode::Char('c'))));
    }
}
