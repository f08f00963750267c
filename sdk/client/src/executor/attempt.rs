//! Numbers hellos so that a server can tell a late one from the latest, also over
//! restarts of the process: by the wall clock, but never backwards.

use std::time::{SystemTime, UNIX_EPOCH};

/// The number of the last hello.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    last: u64,
}

impl Attempts {
    /// Microseconds since 1970, or one more than the last if the clock went back.
    pub(super) fn next(&mut self) -> u64 {
        self.at(micros_since_1970())
    }

    fn at(&mut self, micros: u64) -> u64 {
        self.last = micros.max(self.last + 1);
        self.last
    }
}

fn micros_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_grow_even_when_the_clock_goes_back() {
        let mut attempts = Attempts::default();
        assert_eq!([attempts.at(100), attempts.at(50), attempts.at(200)], [100, 101, 200]);
    }
}
