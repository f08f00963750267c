//! What happens on one connection of a client, to tell when it has been of no use
//! for too long.
//!
//! hyper's own timer for heads also runs between requests, and not at all before
//! the first byte; here a head has its time from its first byte on, and a
//! connection between requests has another, in both versions of HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

/// How HTTP/2 begins, as far as no method of HTTP/1 does.
const PREFACE: &[u8] = b"PRI";
/// How many of its bytes were seen: all of them is HTTP/2, this is HTTP/1.
const IS_HTTP_1: u8 = u8::MAX;
/// No head has begun.
const NONE: u64 = u64::MAX;

/// See the head of this file. Times are nanoseconds since `start`.
#[derive(Debug)]
pub(super) struct Activity {
    start: Instant,
    preface: AtomicU8,
    requests: AtomicUsize,
    idle_since: AtomicU64,
    head_since: AtomicU64,
}

/// A request in progress, until dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Activity>);

impl Activity {
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            preface: AtomicU8::new(0),
            requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(0),
            head_since: AtomicU64::new(NONE),
        }
    }

    /// A request has begun.
    pub(super) fn request(self: &Arc<Self>) -> Busy {
        self.requests.fetch_add(1, Relaxed);
        self.head_since.store(NONE, Relaxed);
        Busy(self.clone())
    }

    /// Bytes have come in. Between requests, on HTTP/1, they are a head.
    pub(super) fn read(&self, bytes: &[u8]) {
        let is_head = !self.is_http_2(bytes) && self.requests.load(Relaxed) == 0;
        if !is_head {
            self.head_since.store(NONE, Relaxed);
        } else if !bytes.is_empty() && self.head_since.load(Relaxed) == NONE {
            self.head_since.store(self.now(), Relaxed);
        }
    }

    /// Ends once a head has taken longer than `header`, or there was no request for
    /// `idle`.
    pub(super) async fn expired(&self, header: Duration, idle: Duration) {
        loop {
            let now = Instant::now();
            let due = self.due(header, idle).unwrap_or(now + header.min(idle));
            if due <= now {
                return;
            }
            // A head may begin meanwhile.
            tokio::time::sleep_until(due.min(now + header.min(idle))).await;
        }
    }

    fn due(&self, header: Duration, idle: Duration) -> Option<Instant> {
        if self.requests.load(Relaxed) > 0 {
            return None;
        }
        let at = |since: u64, span: Duration| self.start + Duration::from_nanos(since) + span;
        Some(match self.head_since.load(Relaxed) {
            NONE => at(self.idle_since.load(Relaxed), idle),
            since => at(since, header),
        })
    }

    /// Takes the first bytes into account. One that only begins like HTTP/2 is not
    /// HTTP/2 yet.
    fn is_http_2(&self, bytes: &[u8]) -> bool {
        let mut seen = self.preface.load(Relaxed);
        for byte in bytes {
            match PREFACE.get(usize::from(seen)) {
                Some(expected) => seen = if byte == expected { seen + 1 } else { IS_HTTP_1 },
                None => break,
            }
        }
        self.preface.store(seen, Relaxed);
        usize::from(seen) == PREFACE.len()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(NONE - 1)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.idle_since.store(self.0.now(), Relaxed);
        self.0.requests.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(60);

    async fn lasts(activity: &Activity) -> u64 {
        let start = Instant::now();
        activity.expired(HEADER, IDLE).await;
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_byte_is_idle() {
        assert_eq!(lasts(&Activity::start()).await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_from_its_first_byte_however_many_follow() {
        let activity = Activity::start();
        activity.read(b"GE");
        tokio::time::advance(Duration::from_secs(4)).await;
        activity.read(b"T / HTTP/1.1\r\n");
        assert_eq!(lasts(&activity).await, 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_all_the_time_and_the_idle_time_begins_after_it() {
        let activity = Arc::new(Activity::start());
        activity.read(b"GET / HTTP/1.1\r\n\r\n");
        let busy = activity.request();
        let watch = activity.clone();
        let expired = tokio::spawn(async move { lasts(&watch).await });
        tokio::time::sleep(Duration::from_secs(300)).await;
        drop(busy);
        assert_eq!(expired.await.unwrap(), 360);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_between_requests_are_no_head_on_http_2() {
        let activity = Activity::start();
        activity.read(b"P");
        activity.read(b"RI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        activity.read(b"\0\0\x08\x06ping");
        assert_eq!(lasts(&activity).await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn what_only_begins_like_http_2_has_the_time_of_a_head() {
        for begins in [&b"PR"[..], b"POST"] {
            let activity = Activity::start();
            activity.read(begins);
            assert_eq!(lasts(&activity).await, 10, "{begins:?}");
        }
    }
}
