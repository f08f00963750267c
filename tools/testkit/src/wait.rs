//! Waiting for conditions, never for time.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// Long enough for anything that happens at once, on a machine that is busy.
pub const SOON: Duration = Duration::from_secs(10);
/// How often a condition is looked at.
const TICK: Duration = Duration::from_millis(5);

/// Waits until the condition holds and gives what it found.
///
/// # Panics
/// It did not hold within the time.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    within: Duration,
    what: &str,
    mut condition: impl FnMut() -> F,
) -> T {
    let end = Instant::now() + within;
    loop {
        if let Some(found) = condition().await {
            return found;
        }
        assert!(Instant::now() < end, "not within {within:?}: {what}");
        sleep(TICK).await;
    }
}

/// Waits for a future that ends at once if all is well.
///
/// # Panics
/// It did not end.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    within(SOON, future).await
}

/// Waits for a future that ends within the time if all is well.
///
/// # Panics
/// It did not end.
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> T {
    match timeout(limit, future).await {
        Ok(output) => output,
        Err(_) => panic!("it did not end within {limit:?}"),
    }
}

/// Looks again and again, for a time, and gives the first thing that it saw.
/// For what must stay as it is: the time is how long it is tempted to change.
///
/// # Panics
/// It changed.
pub async fn holds<T: Debug + PartialEq, F: Future<Output = T>>(
    span: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let (first, end) = (look().await, Instant::now() + span);
    while Instant::now() < end {
        let now = look().await;
        assert_eq!(now, first, "it did not stay: {what}");
        sleep(TICK).await;
    }
    first
}
