//! What a queue looks like from outside.

use super::{Moment, Shedder};
use crate::criticality::Criticality;
use crate::queue::Queue;
use crate::request::QueueIndex;
use crate::state::QueueView;
use crate::time::Time;

impl Shedder {
    /// One queue as it is now; `None` if there is none of that index.
    pub fn view(&self, now: Time, queue: QueueIndex) -> Option<QueueView> {
        let queue = self.queues.get(queue.0 as usize)?;
        let moment = Moment { now, at: self.clock.running(now) };
        let pressed_by = self.pressure.worst(moment.at).map(|(kind, _)| kind);
        let seen = seen(queue, moment);
        let admitted = seen.state.admitted_level().min(self.pressure.admitted_level(moment.at));
        Some(QueueView { pressed_by, admitted_level: Some(admitted), ..seen })
    }
}

fn seen(queue: &Queue, moment: Moment) -> QueueView {
    let [handling_time, healthy_handling_time] = queue.limiter.compared_handling();
    QueueView {
        state: queue.state(moment.at),
        admitted_level: None,
        limit: queue.limiter.current(),
        inflight: queue.inflight,
        waiting: Criticality::ALL.map(|level| queue.lanes[level.index()].len()),
        waiting_bytes: queue.waiting_bytes,
        min_wait: queue.detector.min_wait(),
        target: queue.tuning.target,
        interval: queue.tuning.interval,
        predicted_wait: queue.predicted_wait(Criticality::Internal).max(queue.hidden_wait()),
        service_rate: if queue.per_request > 0.0 { 1.0 / queue.per_request } else { 0.0 },
        handling_time: handling_time.max(queue.typical),
        healthy_handling_time,
        pressed_by: None,
    }
}
