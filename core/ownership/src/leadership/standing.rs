//! What a namespace is to one server.

use plimsoll_placement::time::Time;

use super::terms::Led;

/// What a namespace is to this server.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) role: Role,
    /// Since when nobody leads it, as far as was seen.
    pub(super) vacant_since: Option<Time>,
    /// Whether anybody was ever seen to lead it.
    pub(super) was_led: bool,
    /// When the key of a leadership that is over was last taken away.
    pub(super) resigned: Option<Time>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    Following,
    /// On its way to lead.
    Running,
    Leading {
        epoch: u64,
        /// When it was known: a look that was sent later shows it, or it is over.
        since: Time,
        /// When the last request was sent that showed it; `None`: it is over.
        confirmed: Option<Time>,
    },
    /// On its way out.
    Ending,
    HandingOver,
    Resting {
        until: Time,
    },
}

impl Standing {
    pub(super) fn unknown() -> Self {
        Self { role: Role::Following, vacant_since: None, was_led: false, resigned: None }
    }

    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.role, Role::Following | Role::Resting { .. })
    }

    pub(super) fn observed(&mut self, me: &str, sent: Time, shown: Option<&Led>) {
        if let Role::Leading { epoch, confirmed, .. } = &mut self.role
            && shown.is_some_and(|led| *led.server == *me && led.epoch == *epoch)
        {
            *confirmed = confirmed.map(|at| at.max(sent));
        }
    }
}
