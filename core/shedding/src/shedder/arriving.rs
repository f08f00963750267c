//! What becomes of a request that cannot simply be admitted.

use super::{Moment, Shedder};
use crate::bystanders::Bystanders;
use crate::cohorts;
use crate::criticality::Criticality;
use crate::overload::Overload;
use crate::request::Request;
use crate::settings::Enforcement;
use crate::shares::{Shares, Standing};
use crate::time::Time;
use crate::verdict::{Arrival, Hold, Permit, Reason};
use crate::waiting::Waiter;

/// How far the border between cohorts is blurred: so that a part can be refused
/// even of requests that all say the same cohort, or none.
const BLUR: f64 = 0.2;

/// What is decided of a request that is not refused.
enum Decision {
    Start,
    Wait,
}

impl Shedder {
    /// As [`Shedder::arrive`], for one that [`Shedder::arrive_calmly`] did not admit.
    pub fn arrive_watched(&mut self, now: Time, request: &Request) -> Arrival {
        let moment = self.observe(now);
        let index = request.queue.0 as usize;
        if request.enforcement == Enforcement::Off || index >= self.queues.len() {
            return Arrival::Admitted(self.permit(moment, request, Hold::Unwatched));
        }
        if moment.at >= self.queues[index].next_roll {
            self.roll(moment, index);
        }
        self.queues[index].demand.arrived(request.level);
        let decision = self.judge(moment, request);
        self.count_share(request, decision.is_ok());
        match decision {
            Ok(Decision::Start) => Arrival::Admitted(self.start(moment, request)),
            Ok(Decision::Wait) => self.wait(moment, request),
            Err(reason) => self.turn_away(moment, request, reason),
        }
    }

    fn start(&mut self, moment: Moment, request: &Request) -> Permit {
        let hold = held(request);
        self.take_place(moment, request, hold);
        self.permit(moment, request, hold)
    }

    fn judge(&mut self, moment: Moment, request: &Request) -> Result<Decision, Reason> {
        if self.is_shut_down {
            return Err(Reason::ShuttingDown);
        }
        if request.deadline.is_some_and(|deadline| deadline <= moment.now) {
            return Err(Reason::Expired);
        }
        self.check_cap(request)?;
        self.check_pressure(moment, request)?;
        if self.can_start(request) {
            self.note_calm(moment, request);
            return Ok(Decision::Start);
        }
        self.check_wait(moment, request)?;
        self.make_room(moment, request)?;
        Ok(Decision::Wait)
    }

    /// A cap is the owner's word; but it does not shed what is critical.
    fn check_cap(&mut self, request: &Request) -> Result<(), Reason> {
        let queue = &mut self.queues[request.queue.0 as usize];
        match queue.settings.caller_cap {
            Some(cap) if !request.level.is_critical() => {
                let has = *queue.of_caller(request.caller.0);
                if has < cap { Ok(()) } else { Err(Reason::CallerShare) }
            }
            _ => Ok(()),
        }
    }

    fn check_pressure(&mut self, moment: Moment, request: &Request) -> Result<(), Reason> {
        if !self.pressure.is_on() {
            return Ok(());
        }
        let refused = [Criticality::Feature, Criticality::Internal]
            .map(|level| self.pressure.refused(moment.at, level));
        let parts = refused.map(|it| it.map_or(0.0, |(_, part)| part));
        let bystanders =
            self.bystanders.get_or_insert_with(|| Box::new(Bystanders::new(moment.at)));
        let part = bystanders.part(moment.at, request, parts);
        let blur = BLUR * (self.jitter.unit() - 0.5);
        let rank = cohorts::rank(moment.now, request.cohort, self.seed);
        if part <= 0.0 || (rank + blur).clamp(0.0, 0.999) < 1.0 - part {
            return Ok(());
        }
        let [feature, internal] = refused;
        let by = if request.level == Criticality::Feature { feature } else { internal };
        by.map_or(Ok(()), |(kind, _)| Err(Reason::Resource(kind)))
    }

    fn can_start(&self, request: &Request) -> bool {
        let queue = &self.queues[request.queue.0 as usize];
        queue.ahead(request.level) == 0
            && queue.has_place(request.level)
            && self.places.has_place(queue.inflight)
    }

    /// One that starts at once while nobody waits: the queue does not stand.
    fn note_calm(&mut self, moment: Moment, request: &Request) {
        let queue = &mut self.queues[request.queue.0 as usize];
        if !self.pressure.is_on() && queue.is_calm(request.level) {
            queue.saw_empty(moment.at);
        }
    }

    /// Whether the wait that is predicted is one that its level may have.
    fn check_wait(&self, moment: Moment, request: &Request) -> Result<(), Reason> {
        let level = request.level;
        let queue = &self.queues[request.queue.0 as usize];
        if level.is_critical() || (level == Criticality::Feature && queue.has_little_traffic()) {
            return Ok(());
        }
        if !queue.overload.is_active() {
            let no_burst = Overload::is_no_burst(level, queue.growth(moment.at, level));
            return if no_burst { Err(Reason::Overload) } else { Ok(()) };
        }
        let standing = self.standing(moment, request);
        if queue.ahead(level) <= queue.most_ahead(level, standing) {
            return Ok(());
        }
        let is_share = standing == Standing::BeyondShare;
        Err(if is_share { Reason::CallerShare } else { Reason::Overload })
    }

    fn standing(&self, moment: Moment, request: &Request) -> Standing {
        let queue = &self.queues[request.queue.0 as usize];
        queue.shares.as_ref().map_or(Standing::Within, |shares| {
            let rank = cohorts::rank(moment.now, request.cohort, self.seed);
            shares.standing(request.level, request.caller, rank)
        })
    }

    /// During an overload, who asks and who gets is counted.
    fn count_share(&mut self, request: &Request, admitted: bool) {
        let queue = &mut self.queues[request.queue.0 as usize];
        if queue.overload.is_active() {
            let shares = queue.shares.get_or_insert_with(|| Box::new(Shares::new()));
            shares.count(request.level, request.caller, admitted);
        }
    }

    fn wait(&mut self, moment: Moment, request: &Request) -> Arrival {
        let ghost = request.enforcement == Enforcement::DryRun;
        let ticket = self.room.enter(waiter(moment, request, ghost));
        self.queues[request.queue.0 as usize].push(&mut self.room, ticket.slot);
        self.count_caller(request, 1);
        self.note_shortage(request);
        self.wake(request.queue);
        self.note_occupancy(moment, request.queue);
        if ghost {
            self.queues[request.queue.0 as usize].dry_running += 1;
            self.set_timer(moment);
            return Arrival::Admitted(self.permit(moment, request, Hold::Ghost));
        }
        self.schedule_expiry(moment, request, ticket);
        self.set_timer(moment);
        Arrival::Queued(ticket)
    }

    /// It waits though its queue has a place: the service has none.
    fn note_shortage(&mut self, request: &Request) {
        let queue = &self.queues[request.queue.0 as usize];
        self.places.short |= queue.has_place(request.level);
    }
}

fn held(request: &Request) -> Hold {
    if request.enforcement == Enforcement::DryRun { Hold::Ghost } else { Hold::Place }
}

fn waiter(moment: Moment, request: &Request, ghost: bool) -> Waiter {
    Waiter {
        queue: request.queue,
        level: request.level,
        caller: request.caller,
        arrived_at: moment.now,
        since: moment.at,
        deadline: request.deadline,
        bytes: request.bytes,
        admitted_at: moment.now,
        ghost,
    }
}
