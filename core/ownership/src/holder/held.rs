//! One shard in the hands of an executor.
//!
//! ```text
//!  grant        started(Ok)         revoked, lease over, ...      stopped
//!  ─────▶ Starting ─────▶ Running ─────────────────▶ Stopping ─────▶ (gone)
//!            │ └──────────────────────────────────────▲   └─ waiting grant:
//!            └─ started(Err) ─▶ (gone)                       Starting again
//! ```

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
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Starting,
    Running,
    Stopping {
        /// The end of the stop will confirm every generation up to this.
        confirms: u64,
        /// A later grant, to be started then. Always above `confirms`.
        waiting: Option<u64>,
    },
}

impl Held {
    pub(super) fn starting(generation: u64) -> Self {
        Self { instance: generation, generation, phase: Phase::Starting, done: false }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. })
    }

    /// A grant while it is held: adopted, or kept for after the stop. One that is
    /// not newer is old news.
    pub(super) fn grant(&mut self, generation: u64) {
        match &mut self.phase {
            Phase::Stopping { confirms, waiting } => {
                if generation > *confirms {
                    *waiting = (*waiting).max(Some(generation));
                }
            }
            Phase::Starting | Phase::Running => self.generation = self.generation.max(generation),
        }
    }

    /// A welcome's grant: what the server holds, even if it is older.
    pub(super) fn regrant(&mut self, generation: u64) {
        match &mut self.phase {
            Phase::Stopping { confirms, waiting } => {
                *waiting = Some(generation).filter(|granted| granted > confirms);
            }
            Phase::Starting | Phase::Running => self.generation = generation,
        }
    }

    /// Begins the stop; `false` if it had begun before.
    pub(super) fn stop(&mut self) -> bool {
        if self.is_stopping() {
            return false;
        }
        self.phase = Phase::Stopping { confirms: self.generation, waiting: None };
        true
    }

    /// The end of the stop confirms this generation too; a grant up to it is void.
    pub(super) fn confirm_up_to(&mut self, generation: u64) {
        if let Phase::Stopping { confirms, waiting } = &mut self.phase {
            *confirms = (*confirms).max(generation);
            *waiting = waiting.filter(|granted| granted > confirms);
        }
    }

    /// Nothing is to follow the stop.
    pub(super) fn drop_waiting(&mut self) {
        if let Phase::Stopping { waiting, .. } = &mut self.phase {
            *waiting = None;
        }
    }
}
