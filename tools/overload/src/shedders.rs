//! Every shedder by name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_peers::admission::Admitting;
use plimsoll_peers::bbr::Bbr;
use plimsoll_peers::bucket::TokenBucket;
use plimsoll_peers::codel::Folly;
use plimsoll_peers::dagor::Dagor;
use plimsoll_peers::limit::{Gradient2, Vegas, Windowed};
use plimsoll_peers::literal::{Literal, Where};
use plimsoll_peers::machine::Algorithm;
use plimsoll_peers::none::None as Unprotected;
use plimsoll_peers::partitioned::Partitioned;
use plimsoll_peers::pid::Cinnamon;
use plimsoll_peers::slough::PriorityCodel;
use plimsoll_peers::{Admission, Asked, Pool};
use plimsoll_rivals as rivals;
use plimsoll_shedding::settings::Auto;

use crate::ours::Ours;
use crate::record::IN_TIME_MS;

/// A shedder that can be run.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Shedder {
    /// Ours as it comes: the concurrency is found.
    Plimsoll,
    /// Ours with the service's number of places given.
    PlimsollFixed,
    None,
    QalmDequeue,
    QalmArrival,
    NetflixGradient2,
    NetflixVegas,
    Cinnamon,
    Dagor,
    Bbr,
    FollyCodel,
    PriorityCodel,
    TokenBucket,
    Tower,
    LittleLoadshedder,
    CongestionLimiter,
    ResilienceAimd,
    ResilienceVegas,
}

/// What a shedder that must be configured is given: the truth.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    /// Handlers at once that the service has places for.
    pub places: usize,
    /// Requests a second.
    pub capacity: f64,
    pub endpoints: u32,
    pub seed: u64,
}

/// The rate at which a careful operator would have set a token bucket, of the
/// capacity.
const BUCKET_FACTOR: f64 = 0.55;
/// What little-loadshedder and the AIMD of tower-resilience aim at.
const LATENCY_TARGET: Duration = Duration::from_millis(50);

impl Shedder {
    pub const ALL: [Self; 18] = [
        Self::Plimsoll,
        Self::PlimsollFixed,
        Self::None,
        Self::QalmDequeue,
        Self::QalmArrival,
        Self::NetflixGradient2,
        Self::NetflixVegas,
        Self::Cinnamon,
        Self::Dagor,
        Self::Bbr,
        Self::FollyCodel,
        Self::PriorityCodel,
        Self::TokenBucket,
        Self::Tower,
        Self::LittleLoadshedder,
        Self::CongestionLimiter,
        Self::ResilienceAimd,
        Self::ResilienceVegas,
    ];

    /// The name on the command line, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::PlimsollFixed => "plimsoll-fixed",
            Self::None => "none",
            Self::QalmDequeue => "qalm-dequeue",
            Self::QalmArrival => "qalm-arrival",
            Self::NetflixGradient2 => "netflix-gradient2",
            Self::NetflixVegas => "netflix-vegas",
            Self::Cinnamon => "cinnamon",
            Self::Dagor => "dagor",
            Self::Bbr => "bbr",
            Self::FollyCodel => "folly-codel",
            Self::PriorityCodel => "priority-codel",
            Self::TokenBucket => "token-bucket",
            Self::Tower => "tower",
            Self::LittleLoadshedder => "little-loadshedder",
            Self::CongestionLimiter => "congestion-limiter",
            Self::ResilienceAimd => "tower-resilience-aimd",
            Self::ResilienceVegas => "tower-resilience-vegas",
        }
    }

    /// The shedder of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// A new one of it. Peers know one queue: each endpoint gets one of its own.
    pub fn build(self, truth: Truth) -> Arc<dyn Admission> {
        match self {
            Self::Plimsoll => Arc::new(Ours::new(truth.endpoints, Auto::Auto, truth.seed)),
            Self::PlimsollFixed => {
                let places = Auto::Fixed(u32::try_from(truth.places).unwrap_or(u32::MAX));
                Arc::new(Ours::new(truth.endpoints, places, truth.seed))
            }
            peer => Arc::new(PerEndpoint::new(truth.endpoints, || peer.build_one(truth))),
        }
    }

    fn build_one(self, truth: Truth) -> Arc<dyn Admission> {
        let Truth { places, capacity, seed, .. } = truth;
        match self {
            Self::Plimsoll | Self::PlimsollFixed => Arc::new(Ours::new(1, Auto::Auto, seed)),
            Self::None => pool(Unprotected),
            Self::QalmDequeue => pool(Literal::new(places, Where::Dequeue)),
            Self::QalmArrival => pool(Literal::new(places, Where::Arrival)),
            Self::NetflixGradient2 => pool(Partitioned::new(Windowed::new(Gradient2::default()))),
            Self::NetflixVegas => pool(Partitioned::new(Vegas::default())),
            Self::Cinnamon => {
                pool(Cinnamon::new(places, Duration::from_secs_f64(IN_TIME_MS / 1e3)))
            }
            Self::Dagor => pool(Dagor::new(places)),
            Self::Bbr => pool(Bbr::default()),
            Self::FollyCodel => pool(Folly::new(places)),
            Self::PriorityCodel => pool(PriorityCodel::new(places)),
            Self::TokenBucket => pool(TokenBucket::new(BUCKET_FACTOR * capacity)),
            // Twice the places: with as many as places it loses a tenth of them.
            Self::Tower => rivals::tower_limit(2 * places),
            Self::LittleLoadshedder => rivals::little(LATENCY_TARGET),
            Self::CongestionLimiter => Arc::new(rivals::Squeeze::default()),
            Self::ResilienceAimd => rivals::resilience_aimd(LATENCY_TARGET),
            Self::ResilienceVegas => rivals::resilience_vegas(),
        }
    }
}

fn pool(algorithm: impl Algorithm) -> Arc<dyn Admission> {
    Arc::new(Pool::new(algorithm))
}

impl fmt::Display for Shedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One shedder an endpoint.
#[derive(Debug)]
struct PerEndpoint(Vec<Arc<dyn Admission>>);

impl PerEndpoint {
    fn new(endpoints: u32, one: impl Fn() -> Arc<dyn Admission>) -> Self {
        Self((0..endpoints.max(1)).map(|_| one()).collect())
    }
}

impl Admission for PerEndpoint {
    fn admit(&self, asked: Asked) -> Admitting {
        self.0[asked.endpoint as usize % self.0.len()].admit(asked)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_shedding::Criticality;
    use plimsoll_shedding::criticality::Cohort;

    use super::*;

    #[tokio::test]
    async fn every_shedder_admits_a_first_request_and_has_a_name_of_its_own() {
        let truth = Truth { places: 4, capacity: 100.0, endpoints: 2, seed: 1 };
        for shedder in Shedder::ALL {
            assert_eq!(Shedder::named(shedder.name()), Some(shedder));
            let admission = shedder.build(truth);
            for endpoint in 0..2 {
                let level = Criticality::Internal;
                let cohort = Cohort::default();
                let asked = Asked { level, cohort, caller: 0, endpoint, patience: None };
                admission.admit(asked).await.unwrap().answered();
            }
        }
    }
}
