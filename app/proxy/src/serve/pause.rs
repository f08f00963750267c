//! What the accept loop does when connections cannot be taken: out of file
//! descriptors, the listener stays ready and would be asked again at once, for
//! ever, on a whole core.

use std::io;
use std::time::Duration;

/// The first pause, and the longest.
const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1);

/// How long to wait, growing from failure to failure. Says once that it has begun
/// and once that it is over.
#[derive(Debug, Default)]
pub(super) struct Pause(Option<Duration>);

impl Pause {
    pub(super) async fn after(&mut self, error: &io::Error) {
        tokio::time::sleep(self.grow(error)).await;
    }

    pub(super) fn is_over(&mut self) {
        if self.0.take().is_some() {
            tracing::info!("connections are taken again");
        }
    }

    fn grow(&mut self, error: &io::Error) -> Duration {
        if self.0.is_none() {
            tracing::error!(
                %error,
                "no connection can be taken, which is tried again until it works: if files are \
                 used up, raise the limit (ulimit -n, LimitNOFILE)"
            );
        }
        let pause = self.0.map_or(FIRST, |last| (last * 2).min(LONGEST));
        self.0 = Some(pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_to_its_bound_and_starts_small_again() {
        let error = io::Error::from_raw_os_error(24);
        let mut pause = Pause::default();
        let pauses: Vec<u128> = (0..10).map(|_| pause.grow(&error).as_millis()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        pause.is_over();
        assert_eq!(pause.grow(&error), FIRST);
    }
}
