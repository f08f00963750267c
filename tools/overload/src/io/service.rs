//! A service of some places, each of which waits for an exponential time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::draws::Draws;
use crate::load::Piece;

/// Every n-th request is another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    pub every: u64,
    /// How many times as long it takes.
    pub slower: f64,
}

/// What the service behind the shedder is like.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// Handlers that run at once; more wait in order of arrival.
    pub places: usize,
    pub mean: Duration,
    /// When handlers are slower, and how many times; seconds from the start of what
    /// is measured.
    pub slow: Option<Piece>,
    pub odd: Option<Odd>,
}

impl Default for ServicePlan {
    fn default() -> Self {
        Self { places: 16, mean: Duration::from_millis(10), slow: None, odd: None }
    }
}

/// The running service.
#[derive(Debug)]
pub(crate) struct Service {
    plan: ServicePlan,
    places: Semaphore,
    draws: Mutex<(u64, Draws)>,
    /// The start of what is measured.
    origin: Instant,
}

impl Service {
    pub(crate) fn new(plan: ServicePlan, seed: u64, origin: Instant) -> Arc<Self> {
        let places = Semaphore::new(plan.places);
        Arc::new(Self { plan, places, draws: Mutex::new((0, Draws::new(seed))), origin })
    }

    /// One request, from the service's own queue to its end.
    pub(crate) async fn handle(&self) {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        tokio::time::sleep(self.time()).await;
    }

    fn time(&self) -> Duration {
        let mut draws = self.draws.lock();
        draws.0 += 1;
        let odd = self.plan.odd.filter(|odd| draws.0.is_multiple_of(odd.every));
        let slower = odd.map_or(1.0, |odd| odd.slower) * self.slowed();
        self.plan.mean.mul_f64(draws.1.next() * slower)
    }

    fn slowed(&self) -> f64 {
        let now = Instant::now().saturating_duration_since(self.origin).as_secs_f64();
        let slow = self.plan.slow.filter(|piece| now >= piece.from && now < piece.to);
        slow.map_or(1.0, |piece| piece.factor)
    }
}
