//! Wakers collected under the lock, woken after it: whoever they wake wants it.

use std::task::Waker;

/// As many as one call usually decides; more go to the heap.
const FEW: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Wakers {
    few: [Option<Waker>; FEW],
    count: usize,
    more: Vec<Waker>,
}

impl Wakers {
    pub(super) fn push(&mut self, waker: Waker) {
        match self.few.get_mut(self.count) {
            Some(place) => *place = Some(waker),
            None => self.more.push(waker),
        }
        self.count += 1;
    }

    pub(super) fn wake(self) {
        if self.count > 0 {
            self.few.into_iter().flatten().chain(self.more).for_each(Waker::wake);
        }
    }
}
