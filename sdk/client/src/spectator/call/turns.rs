//! Whose turn it is to ask a server: `Pace` behind a lock, with a call to those who
//! wait when there is more of it.

use parking_lot::Mutex;
use plimsoll_placement::time::Time;
use tokio::sync::Notify;

use super::pace::Pace;

#[derive(Debug)]
pub(in crate::spectator) struct Turns {
    pace: Mutex<Pace>,
    more: Notify,
}

impl Turns {
    pub(in crate::spectator) fn new() -> Self {
        Self { pace: Mutex::new(Pace::new()), more: Notify::new() }
    }

    /// # Errors
    /// Not now; when it is worth trying again.
    pub(super) fn take(&self, now: Time, live: bool) -> Result<(), Time> {
        self.pace.lock().take(now, live)
    }

    /// A lookup was of use: two of those who wait may try.
    pub(super) fn was_of_use(&self, now: Time) {
        self.pace.lock().was_of_use(now);
        self.more.notify_one();
        self.more.notify_one();
    }

    /// Whoever misses it is woken by its own clock.
    pub(super) async fn more(&self) {
        self.more.notified().await;
    }
}
