//! Who ought to lead which namespace, as one of several servers sees it, and until
//! when that server may believe that it leads.
//!
//! Passive, as everything here: what was seen of the others goes in with the time,
//! what to do comes out. Whoever raised the epoch in the store last is the only one
//! that can write, whatever is decided here; this decides who tries, when a leader
//! must fall silent, and that leaderships are spread. It performs no election.
//!
//! **Confidence.** A server's keys hang on one lease of the store. The server counts
//! `confidence` from the moment it *sent* the last extension that was granted and
//! the last look that showed its leadership, whichever is earlier; the store counts
//! at least as long from a later moment. So a leader falls silent before its key can
//! vanish. The one who takes over while the key stands (its address refuses
//! connections) cannot know that: a cold leader waits for `confidence` more before
//! it calls anybody dead.

mod assignment;
mod pace;
mod standing;
mod terms;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;

pub use assignment::assign;
pub use pace::Pace;
pub use terms::{Act, Led, Seen, Why};

use standing::{Role, Standing};

/// How long a leader may act on what it has last seen of itself.
pub const CONFIDENCE: Duration = Duration::from_secs(3);

/// How long others leave a vacant namespace to the server that it is meant for;
/// each next one in line waits that much longer.
const TURN: Duration = Duration::from_millis(500);
/// What was seen longer ago than this is no ground to take over anything.
const FRESH: Duration = Duration::from_millis(1500);
/// The servers must have been the same for so long before leaderships are moved
/// for balance: a rolling restart is not followed by as many hand-overs again.
const SETTLED: Duration = Duration::from_secs(5);
/// Leaderships that one server hands over at the same time.
const AT_ONCE: usize = 2;
/// How long a server does not run for a namespace whose changes it could not store.
const REST: Duration = Duration::from_secs(10);
/// A refused connection counts as a death for so long: the lease of the dead ends
/// within it.
const REFUSING: Duration = Duration::from_secs(5);

/// One server's view of the servers and the leaderships.
#[derive(Debug)]
pub struct Leadership {
    me: Arc<str>,
    /// When the last extension of the lease that was granted was sent.
    kept: Option<Time>,
    seen: Option<Look>,
    settled_since: Time,
    refusing: BTreeMap<Arc<str>, Time>,
    namespaces: BTreeMap<Arc<str>, Standing>,
    /// The last look after which keys of namespaces that are gone were taken away.
    cleared: Option<Time>,
    leaving: bool,
}

#[derive(Debug)]
struct Look {
    sent: Time,
    seen: Seen,
}

impl Leadership {
    /// A server that has seen nobody yet, not even itself.
    pub fn new(now: Time, me: Arc<str>) -> Self {
        Self {
            me,
            kept: None,
            seen: None,
            settled_since: now,
            refusing: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            cleared: None,
            leaving: false,
        }
    }

    // === what was seen ===

    /// The lease was extended; the request was sent at that time.
    pub fn kept_alive(&mut self, sent: Time) {
        self.kept = self.kept.max(Some(sent));
    }

    /// The lease has run out, and everything that hung on it is gone. The server leads
    /// nothing until it has joined again.
    pub fn lease_lost(&mut self) {
        self.kept = None;
        for standing in self.namespaces.values_mut() {
            if let Role::Leading { confirmed, .. } = &mut standing.role {
                *confirmed = None;
            }
        }
    }

    /// What a look showed that was sent at that time. Looks that were overtaken count
    /// for nothing: `false`.
    pub fn observed(&mut self, now: Time, sent: Time, seen: Seen) -> bool {
        if self.seen.as_ref().is_some_and(|look| sent < look.sent) {
            return false;
        }
        let servers = self.seen.as_ref().map(|look| &look.seen.servers);
        if servers.is_none_or(|servers| *servers != seen.servers) {
            self.settled_since = now;
        }
        self.refusing.retain(|server, until| now < *until && seen.servers.contains_key(server));
        for (name, standing) in &mut self.namespaces {
            standing.observed(&self.me, sent, seen.leaders.get(name));
        }
        self.seen = Some(Look { sent, seen });
        self.note_vacancies(now);
        true
    }

    /// These namespaces exist, and no others.
    pub fn names(&mut self, now: Time, names: impl IntoIterator<Item = Arc<str>>) {
        let mut earlier = std::mem::take(&mut self.namespaces);
        for name in names {
            let standing = earlier.remove(&name).unwrap_or_else(Standing::unknown);
            self.namespaces.insert(name, standing);
        }
        // What has not ended yet is still to be ended.
        earlier
            .retain(|_, standing| !matches!(standing.role, Role::Following | Role::Resting { .. }));
        self.namespaces.extend(earlier);
        self.note_vacancies(now);
    }

    /// The address of that server refuses connections: its process is dead.
    pub fn refuses(&mut self, now: Time, server: &Arc<str>) {
        if *server != self.me {
            self.refusing.insert(server.clone(), now + REFUSING);
            self.note_vacancies(now);
        }
    }

    // === what has come of it ===

    /// This server leads the namespace; that was asked for at that time.
    pub fn leads(&mut self, now: Time, namespace: &Arc<str>, epoch: u64, sent: Time) {
        let standing = self.namespaces.entry(namespace.clone()).or_insert_with(Standing::unknown);
        standing.role = Role::Leading { epoch, since: now, confirmed: Some(sent) };
        (standing.was_led, standing.vacant_since) = (true, None);
    }

    /// Another server wants to hand the namespace over to this one. `false`: it cannot
    /// be taken now.
    pub fn invited(&mut self, namespace: &str) -> bool {
        let Some(standing) = self.namespaces.get_mut(namespace) else { return false };
        let fits = !self.leaving && standing.role == Role::Following;
        if fits {
            standing.role = Role::Running;
        }
        fits
    }

    /// It leads the namespace no more, or could not.
    pub fn ended(&mut self, now: Time, namespace: &str) {
        self.set_role(namespace, Role::Following);
        // What was seen of it may be old: the next look tells.
        if let Some(standing) = self.namespaces.get_mut(namespace) {
            standing.vacant_since = standing.vacant_since.map(|_| now);
        }
    }

    /// Its changes could not be stored: others may have better luck.
    pub fn stuck(&mut self, now: Time, namespace: &str) {
        self.set_role(namespace, Role::Resting { until: now + REST });
    }

    /// The server goes down: everything is handed over, nothing is taken.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Whether the server goes down.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    // === what follows ===

    /// Until when this server may act as the leader of the namespace; `None` if it
    /// does not lead it.
    pub fn confident_until(&self, namespace: &str) -> Option<Time> {
        match self.namespaces.get(namespace)?.role {
            Role::Leading { confirmed, .. } => Some(self.confidence_from(confirmed)),
            _ => None,
        }
    }

    fn confidence_from(&self, confirmed: Option<Time>) -> Time {
        let both = self.kept.zip(confirmed);
        both.map_or(Time::ZERO, |(kept, confirmed)| kept.min(confirmed) + CONFIDENCE)
    }

    /// What to do now. Each act is told once.
    pub fn decide(&mut self, now: Time) -> Vec<Act> {
        let plan = self.plan(now);
        let mut handing_over = self.count(|role| matches!(role, Role::HandingOver));
        let names: Vec<_> = self.namespaces.keys().cloned().collect();
        let mut acts = self.clear();
        for name in names {
            let Some(act) = self.decide_one(now, &name, &plan, handing_over) else { continue };
            handing_over += usize::from(matches!(act, Act::HandOver { .. }));
            acts.push(act);
        }
        acts
    }

    /// Keys of this server for namespaces that are no more.
    fn clear(&mut self) -> Vec<Act> {
        let Some(look) = self.seen.as_ref().filter(|look| Some(look.sent) > self.cleared) else {
            return Vec::new();
        };
        self.cleared = Some(look.sent);
        let gone =
            look.seen.leaders.iter().filter(|(name, led)| {
                led.server == self.me && !self.namespaces.contains_key(*name)
            });
        gone.map(|(name, led)| Act::Resign { namespace: name.clone(), epoch: led.epoch }).collect()
    }

    fn decide_one(
        &mut self,
        now: Time,
        name: &Arc<str>,
        plan: &BTreeMap<Arc<str>, Arc<str>>,
        handing_over: usize,
    ) -> Option<Act> {
        match self.namespaces.get(name)?.role {
            Role::Leading { epoch, since, confirmed } => {
                if let Some(why) = self.must_step_down(now, name, epoch, since, confirmed) {
                    self.set_role(name, Role::Ending);
                    return Some(Act::StepDown { namespace: name.clone(), why });
                }
                let to = plan.get(name).filter(|to| **to != self.me)?.clone();
                let is_shown = self.seen.as_ref().is_some_and(|look| look.sent >= since);
                let is_settled = now >= self.settled_since + SETTLED && is_shown;
                if !self.leaving && (handing_over >= AT_ONCE || !is_settled) {
                    return None;
                }
                self.set_role(name, Role::HandingOver);
                Some(Act::HandOver { namespace: name.clone(), to })
            }
            Role::Resting { until } if now >= until => {
                self.set_role(name, Role::Following);
                None
            }
            Role::Resting { .. } => self.resign(now, name),
            Role::Following if self.leaving => self.resign(now, name),
            Role::Following if self.is_my_turn(now, name, plan.get(name)) => {
                let replacing = self.leader_of(name).map(|led| led.epoch);
                self.set_role(name, Role::Running);
                Some(Act::Run { namespace: name.clone(), replacing })
            }
            Role::Following | Role::Running | Role::Ending | Role::HandingOver => None,
        }
    }

    /// Again with every look that shows it, since the last try may have failed.
    fn resign(&mut self, now: Time, name: &Arc<str>) -> Option<Act> {
        let look = self.seen.as_ref()?;
        let (sent, led) = (look.sent, look.seen.leaders.get(name)?);
        let epoch = led.epoch;
        let is_due = led.server == self.me;
        let standing = self.namespaces.get_mut(name)?;
        if !is_due || standing.resigned.is_some_and(|at| sent <= at) {
            return None;
        }
        standing.resigned = Some(now);
        Some(Act::Resign { namespace: name.clone(), epoch })
    }

    fn must_step_down(
        &self,
        now: Time,
        name: &str,
        epoch: u64,
        since: Time,
        confirmed: Option<Time>,
    ) -> Option<Why> {
        if confirmed.is_none() {
            return Some(Why::LeaseLost);
        }
        let shows_another = |look: &Look| {
            let led = look.seen.leaders.get(name);
            look.sent >= since && !led.is_some_and(|it| it.server == self.me && it.epoch == epoch)
        };
        if self.seen.as_ref().is_some_and(shows_another) {
            return Some(Why::Replaced);
        }
        (now >= self.confidence_from(confirmed)).then_some(Why::NoConfidence)
    }

    /// Who is to lead what. Whoever goes down is meant for nothing.
    fn plan(&self, now: Time) -> BTreeMap<Arc<str>, Arc<str>> {
        let Some(look) = &self.seen else { return BTreeMap::new() };
        let candidates: BTreeMap<_, _> = look
            .seen
            .servers
            .iter()
            .filter(|(id, _)| !(self.is_refusing(now, id) || self.leaving && **id == self.me))
            .map(|(id, place)| (id.clone(), place.clone()))
            .collect();
        let led_by = |name: &Arc<str>| look.seen.leaders.get(name).map(|led| led.server.clone());
        let names = self.namespaces.keys().map(|name| (name.clone(), led_by(name)));
        assign(&names.collect(), &candidates)
    }

    fn is_my_turn(&self, now: Time, name: &str, meant_for: Option<&Arc<str>>) -> bool {
        let Some(since) = self.namespaces.get(name).and_then(|it| it.vacant_since) else {
            return false;
        };
        !self.leaving && self.is_in_touch(now) && now >= since + self.wait_of(name, meant_for)
    }

    /// Nothing is taken on old news.
    fn is_in_touch(&self, now: Time) -> bool {
        let fresh = |at: Time| now < at + FRESH;
        self.kept.is_some_and(fresh) && self.seen.as_ref().is_some_and(|look| fresh(look.sent))
    }

    /// One that nobody has led yet was made a moment ago: whoever made it comes first.
    fn wait_of(&self, name: &str, meant_for: Option<&Arc<str>>) -> Duration {
        let is_new = self.namespaces.get(name).is_some_and(|it| !it.was_led);
        let head_start = if is_new { TURN } else { Duration::ZERO };
        let line = if meant_for == Some(&self.me) { 0 } else { self.place_in_line(name) };
        head_start + TURN * line
    }

    /// 1 for the one that comes first among those it is not meant for.
    fn place_in_line(&self, name: &str) -> u32 {
        let Some(look) = &self.seen else { return u32::MAX };
        let servers = &look.seen.servers;
        let Some(mine) = servers.get(&self.me) else { return u32::MAX };
        let mine = assignment::rank(name, mine);
        let before = servers.values().filter(|place| assignment::rank(name, place) > mine).count();
        u32::try_from(before).unwrap_or(u32::MAX - 1) + 1
    }

    fn note_vacancies(&mut self, now: Time) {
        let Some(look) = &self.seen else { return };
        for (name, standing) in &mut self.namespaces {
            let led = look.seen.leaders.get(name);
            standing.was_led |= led.is_some();
            let alive = led.is_some_and(|led| {
                let there = look.seen.servers.contains_key(&led.server);
                let refuses = self.refusing.get(&led.server).is_some_and(|until| now < *until);
                // A leadership of its own that it knows nothing of is one of its past.
                there && !refuses && (led.server != self.me || standing.is_busy())
            });
            standing.vacant_since = match alive {
                true => None,
                false => standing.vacant_since.or(Some(now)),
            };
        }
    }

    fn is_refusing(&self, now: Time, server: &str) -> bool {
        self.refusing.get(server).is_some_and(|until| now < *until)
    }

    fn leader_of(&self, name: &str) -> Option<&Led> {
        self.seen.as_ref()?.seen.leaders.get(name)
    }

    fn count(&self, is: impl Fn(&Role) -> bool) -> usize {
        self.namespaces.values().filter(|standing| is(&standing.role)).count()
    }

    fn set_role(&mut self, namespace: &str, role: Role) {
        if let Some(standing) = self.namespaces.get_mut(namespace) {
            standing.role = role;
        }
    }
}

#[cfg(test)]
mod tests;
