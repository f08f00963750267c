//! congestion-limiter (formerly squeeze): Vegas over the 90th percentile of a
//! window, refusing whoever finds no token.

use std::fmt;
use std::sync::Arc;

use congestion_limiter::aggregation::Percentile;
use congestion_limiter::limiter::{DefaultLimiter, Limiter, Outcome};
use congestion_limiter::limits::{Vegas, Windowed};
use plimsoll_peers::{Admission, Admitting, Asked, Guard, Rejected};

type Tokens = DefaultLimiter<Windowed<Vegas, Percentile>>;

/// The crate's limiter with the initial limit that its documentation uses.
pub struct Squeeze(Arc<Tokens>);

impl Default for Squeeze {
    fn default() -> Self {
        let limit = Windowed::new(Vegas::new_with_initial_limit(20), Percentile::default());
        Self(Arc::new(DefaultLimiter::new(limit)))
    }
}

impl Admission for Squeeze {
    fn admit(&self, _asked: Asked) -> Admitting {
        let limiter = self.0.clone();
        Box::pin(async move {
            let token = limiter.try_acquire().await.ok_or(Rejected::Shed)?;
            Ok(Guard::new(move || {
                let ended = async move { limiter.release(token, Some(Outcome::Success)).await };
                tokio::spawn(ended);
            }))
        })
    }
}

impl fmt::Debug for Squeeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("congestion-limiter")
    }
}
