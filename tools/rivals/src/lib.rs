//! Shedders that are on crates.io, as they are, behind the interface of
//! [`plimsoll_peers`]: so that only the experiments build them.
//!
//! They are tower layers or tokens; `Layered` makes an [`Admission`] of a layer.

mod layered;
mod squeeze;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_peers::Admission;
use tower::ServiceBuilder;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower_resilience_adaptive::{AdaptiveLimiterLayer, Aimd, Vegas};

use self::layered::{Handler, Layered};
pub use self::squeeze::Squeeze;

/// tower's `load_shed` over `concurrency_limit`: whoever finds no place is refused.
pub fn tower_limit(places: usize) -> Arc<dyn Admission> {
    let layers = ServiceBuilder::new()
        .load_shed()
        .layer(GlobalConcurrencyLimitLayer::new(places))
        .service(Handler);
    Arc::new(Layered::new("tower", layers))
}

/// little-loadshedder: a queue as long as a target of the mean latency allows. Its
/// answers say who was refused, so it needs no `load_shed`.
pub fn little(target: Duration) -> Arc<dyn Admission> {
    // The weight of a new latency is the one its documentation uses.
    let shedder = little_loadshedder::LoadShed::new(Handler, 0.01, target);
    Arc::new(Layered::new("little-loadshedder", shedder))
}

/// tower-resilience-adaptive by additive increase and multiplicative decrease.
///
/// # Panics
/// If the crate refuses its own defaults.
pub fn resilience_aimd(threshold: Duration) -> Arc<dyn Admission> {
    #[expect(clippy::expect_used, reason = "the crate's own defaults, tested below")]
    let algorithm = Aimd::builder().latency_threshold(threshold).build().expect("valid defaults");
    let layers = ServiceBuilder::new()
        .load_shed()
        .layer(AdaptiveLimiterLayer::new(algorithm))
        .service(Handler);
    Arc::new(Layered::new("tower-resilience aimd", layers))
}

/// tower-resilience-adaptive by its Vegas, with its defaults.
///
/// # Panics
/// If the crate refuses its own defaults.
pub fn resilience_vegas() -> Arc<dyn Admission> {
    #[expect(clippy::expect_used, reason = "the crate's own defaults, tested below")]
    let algorithm = Vegas::builder().build().expect("valid defaults");
    let layers = ServiceBuilder::new()
        .load_shed()
        .layer(AdaptiveLimiterLayer::new(algorithm))
        .service(Handler);
    Arc::new(Layered::new("tower-resilience vegas", layers))
}

#[cfg(test)]
mod tests {
    use plimsoll_peers::{Asked, Rejected};
    use plimsoll_shedding::Criticality;
    use plimsoll_shedding::criticality::Cohort;

    use super::*;

    fn of(level: u8) -> Asked {
        Asked {
            level: Criticality::from_level(level).unwrap(),
            cohort: Cohort::default(),
            caller: 0,
            endpoint: 0,
            patience: None,
        }
    }

    #[tokio::test]
    async fn a_layer_refuses_whom_it_has_no_place_for_and_takes_the_place_back() {
        let tower = tower_limit(1);
        let guard = tower.admit(of(2)).await.unwrap();
        assert_eq!(tower.admit(of(1)).await.unwrap_err(), Rejected::Shed);
        guard.answered();
        // The layer notices on its own task.
        let again = async {
            while tower.admit(of(2)).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), again).await.unwrap();
    }

    #[tokio::test]
    async fn every_crate_admits_a_first_request() {
        let fifty = Duration::from_millis(50);
        let vegas = resilience_vegas();
        let squeeze: Arc<dyn Admission> = Arc::new(Squeeze::default());
        for it in [tower_limit(4), little(fifty), resilience_aimd(fifty), vegas, squeeze] {
            it.admit(of(4)).await.unwrap().answered();
        }
    }
}
