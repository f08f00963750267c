//! One shard in the hands of an executor.
//!
//! ```text
//!  grant        started(Ok)         revoked, lease over, ...      stopped
//!  ─────▶ Starting ─────▶ Running ─────────────────▶ Stopping ─────▶ (gone)
//!            │ └──────────────────────────────────────▲   └─ waiting grant:
//!            └─ started(Err) ─▶ (gone)                       Starting again
//! ```

use crate::message::Grant;

/// A shard that is starting, running or stopping. There is never a second
/// instance: a grant that comes while it stops waits.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The generation of its start: names the instance.
    pub(super) instance: u64,
    /// The generation it is granted under now.
    pub(super) generation: u64,
    pub(super) phase: Phase,
    /// The application has finished its work.
    pub(super) done: bool,
}

/// Where a held shard is in its life.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Starting,
    Running,
    Stopping(Stopping),
}

/// A stop under way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Stopping {
    /// Its end will confirm every generation up to this.
    pub(super) confirms: u64,
    /// Its end is told. If not, the goodbye of an executor that comes back says
    /// it all.
    pub(super) tells: bool,
    /// A later grant, to be started then. Always above `confirms`.
    pub(super) waiting: Option<Grant>,
}

impl Held {
    pub(super) fn starting(generation: u64) -> Self {
        Self { instance: generation, generation, phase: Phase::Starting, done: false }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping(_))
    }

    /// A grant while it is held: adopted, or kept for after the stop. One that is
    /// not newer is old news.
    pub(super) fn grant(&mut self, grant: Grant) {
        match &mut self.phase {
            Phase::Stopping(stop) => {
                let waits = stop.waiting.as_ref().map_or(stop.confirms, |it| it.generation);
                if grant.generation > waits {
                    stop.waiting = Some(grant);
                }
            }
            Phase::Starting | Phase::Running => {
                self.generation = self.generation.max(grant.generation);
            }
        }
    }

    /// A welcome's grant: what the server holds, even if it is older.
    pub(super) fn regrant(&mut self, grant: Grant) {
        match &mut self.phase {
            Phase::Stopping(stop) => {
                stop.waiting = Some(grant).filter(|grant| grant.generation > stop.confirms);
            }
            Phase::Starting | Phase::Running => self.generation = grant.generation,
        }
    }

    /// Begins the stop; `false` if it had begun before.
    pub(super) fn stop(&mut self, tells: bool) -> bool {
        if self.is_stopping() {
            return false;
        }
        self.phase = Phase::Stopping(Stopping { confirms: self.generation, tells, waiting: None });
        true
    }

    /// The end of the stop confirms this generation too; a grant up to it is void.
    pub(super) fn confirm_up_to(&mut self, generation: u64) {
        if let Phase::Stopping(stop) = &mut self.phase {
            stop.tells = true;
            stop.confirms = stop.confirms.max(generation);
            stop.waiting = stop.waiting.take().filter(|it| it.generation > stop.confirms);
        }
    }

    /// Nothing is to follow the stop.
    pub(super) fn drop_waiting(&mut self) {
        if let Phase::Stopping(stop) = &mut self.phase {
            stop.waiting = None;
        }
    }
}
