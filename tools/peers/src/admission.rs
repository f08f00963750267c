//! The one interface behind which every shedder runs, ours included.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::asked::Asked;

/// A shedder in front of a service.
pub trait Admission: Send + Sync + fmt::Debug {
    /// Waits for a place, or is told that there is none. Dropping the future gives
    /// up.
    fn admit(&self, asked: Asked) -> Admitting;
}

/// The answer of [`Admission::admit`], to be awaited.
pub type Admitting = Pin<Box<dyn Future<Output = Result<Guard, Rejected>> + Send>>;

/// Not admitted; the handler has not seen the request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rejected {
    /// Refused by policy or for want of room.
    Shed,
    /// It waited until nobody wanted the answer any more.
    Expired,
}

/// How a handler ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// It answered whole.
    Answered,
    /// It sent its first byte and goes on as a stream.
    Streaming,
    /// It was dropped before it answered.
    Abandoned,
}

/// The right to run the handler. Dropped when the handler has ended.
pub struct Guard {
    release: Option<Box<dyn FnOnce(End) + Send>>,
    knows_streams: bool,
}

impl Guard {
    /// A right that calls `release` once, when it is dropped. It lasts as long as
    /// the answer, also if that is a stream.
    pub fn new(release: impl FnOnce() + Send + 'static) -> Self {
        Self { release: Some(Box::new(move |_| release())), knows_streams: false }
    }

    /// A right that calls `release` once and tells it how the handler ended.
    pub fn telling(release: impl FnOnce(End) + Send + 'static) -> Self {
        Self { release: Some(Box::new(release)), knows_streams: true }
    }

    /// The whole answer is out.
    pub fn answered(mut self) {
        self.end(End::Answered);
    }

    /// The first byte of a stream is out. Comes back if the shedder holds its place
    /// for as long as the stream lasts.
    pub fn first_byte(mut self) -> Option<Self> {
        if self.knows_streams {
            self.end(End::Streaming);
            return None;
        }
        Some(self)
    }

    fn end(&mut self, end: End) {
        if let Some(release) = self.release.take() {
            release(end);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end(End::Abandoned);
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("knows_streams", &self.knows_streams).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    fn telling() -> (Guard, Arc<Mutex<Vec<End>>>) {
        let ends = Arc::new(Mutex::new(Vec::new()));
        let log = ends.clone();
        (Guard::telling(move |end| log.lock().push(end)), ends)
    }

    #[test]
    fn a_right_is_given_back_exactly_once_and_says_how_it_ended() {
        let (guard, ends) = telling();
        guard.answered();
        assert_eq!(*ends.lock(), [End::Answered]);
        let (guard, ends) = telling();
        assert!(guard.first_byte().is_none());
        assert_eq!(*ends.lock(), [End::Streaming]);
        let (guard, ends) = telling();
        drop(guard);
        assert_eq!(*ends.lock(), [End::Abandoned]);
    }

    #[test]
    fn a_shedder_that_knows_no_streams_holds_its_place_beyond_the_first_byte() {
        assert!(Guard::new(|| ()).first_byte().is_some());
    }
}
