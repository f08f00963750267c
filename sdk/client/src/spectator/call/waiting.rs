//! The seats of those who are held: `Holds` behind a lock, with a channel to each.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::holds::{Full, Holds, Role, Ticket};

/// What is told to one who is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Word {
    /// The shard may be there again.
    Go,
    /// Find out whether it is.
    Scout,
}

#[derive(Debug)]
pub(in crate::spectator) struct Waiting {
    seats: Mutex<Seats>,
    /// Read without the lock by the many who find nobody held.
    held: AtomicUsize,
}

#[derive(Debug)]
struct Seats {
    holds: Holds,
    words: HashMap<Ticket, mpsc::UnboundedSender<Word>>,
}

/// A seat. Dropping it gives it up.
#[derive(Debug)]
pub(super) struct Seat {
    waiting: Arc<Waiting>,
    shard: Arc<str>,
    ticket: Ticket,
    pub(super) role: Role,
    words: mpsc::UnboundedReceiver<Word>,
}

impl Waiting {
    pub(in crate::spectator) fn new(limit: usize) -> Self {
        let seats = Seats { holds: Holds::new(limit), words: HashMap::new() };
        Self { seats: Mutex::new(seats), held: AtomicUsize::new(0) }
    }

    pub(in crate::spectator) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(super) fn has(&self, shard: &str) -> bool {
        self.held() > 0 && self.seats.lock().holds.has(shard)
    }

    pub(super) fn sit(self: &Arc<Self>, shard: &Arc<str>) -> Result<Seat, Full> {
        let (told, words) = mpsc::unbounded_channel();
        let mut seats = self.seats.lock();
        let (ticket, role) = seats.holds.hold(shard)?;
        seats.words.insert(ticket, told);
        self.count(&seats);
        Ok(Seat { waiting: Arc::clone(self), shard: Arc::clone(shard), ticket, role, words })
    }

    /// Lets all go who are held for the shard.
    pub(in crate::spectator) fn open(&self, shard: &str) {
        if self.held() > 0 {
            self.let_go(|holds| holds.open(shard));
        }
    }

    pub(in crate::spectator) fn open_all(&self) {
        self.let_go(Holds::open_all);
    }

    fn let_go(&self, open: impl FnOnce(&mut Holds) -> BTreeSet<Ticket>) {
        let mut seats = self.seats.lock();
        for ticket in open(&mut seats.holds) {
            seats.tell(ticket, Word::Go);
            seats.words.remove(&ticket);
        }
        self.count(&seats);
    }

    fn leave(&self, shard: &str, ticket: Ticket) {
        let mut seats = self.seats.lock();
        seats.words.remove(&ticket);
        if let Some(scout) = seats.holds.leave(shard, ticket) {
            seats.tell(scout, Word::Scout);
        }
        self.count(&seats);
    }

    fn count(&self, seats: &Seats) {
        self.held.store(seats.holds.len(), Ordering::Relaxed);
    }
}

impl Seats {
    fn tell(&self, ticket: Ticket, word: Word) {
        if let Some(told) = self.words.get(&ticket) {
            // It may be about to leave.
            let _ = told.send(word);
        }
    }
}

impl Seat {
    /// The next word; cancelling loses none.
    pub(super) async fn word(&mut self) -> Word {
        match self.words.recv().await {
            Some(word) => word,
            // It was let go, and has been told.
            None => Word::Go,
        }
    }

    /// Lets all go who are held for the same shard.
    pub(super) fn open(&self) {
        self.waiting.open(&self.shard);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.waiting.leave(&self.shard, self.ticket);
    }
}
