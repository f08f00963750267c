//! Why moving for balance ended, in parts of the report.

use crate::plan::{HeldHost, HoldReason, StopReason};
use crate::policy::Mode;
use crate::view::ExecutorIndex;

use super::draft::Draft;

#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Hottest first.
    pub(super) held: Vec<HeldHost>,
    pub(super) stopped: Option<StopReason>,
}

impl Verdict {
    pub(super) fn stopped(reason: StopReason) -> Self {
        Self { held: Vec::new(), stopped: Some(reason) }
    }

    /// The verdict on hosts left hot, hottest first: balanced if they are as they
    /// should be, out of budget if a move would help one, stuck otherwise.
    pub(super) fn on(held: Vec<HeldHost>) -> Self {
        let stopped = if held.iter().all(|host| host.reason.is_content()) {
            StopReason::Balanced
        } else if held.iter().any(|host| host.reason == HoldReason::Budget) {
            StopReason::Budget
        } else {
            StopReason::Stuck
        };
        Self { held, stopped: Some(stopped) }
    }

    /// Out of budget if a host that is not hot would be helped, too.
    pub(super) fn or_budget(mut self, was_refused: bool) -> Self {
        if was_refused {
            self.stopped = Some(StopReason::Budget);
        }
        self
    }

    /// Frozen by an operator, with these hosts hot.
    pub(super) fn frozen(draft: &mut Draft<'_>, hot: Vec<ExecutorIndex>) -> Self {
        let share = (draft.policy.mode == Mode::Adaptive).then(|| draft.bound().level);
        let draft = &*draft;
        let held = |executor| HeldHost { share, ..held(draft, executor, HoldReason::Frozen) };
        Self { held: hot.into_iter().map(held).collect(), stopped: Some(StopReason::Frozen) }
    }
}

pub(super) fn held(draft: &Draft<'_>, executor: ExecutorIndex, reason: HoldReason) -> HeldHost {
    let load = draft.load(executor) / draft.capacity(executor);
    HeldHost { executor, load, share: None, reason }
}
