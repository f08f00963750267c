use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn seen(servers: &[&str], leaders: &[(&str, &str, u64)]) -> Seen {
    let server = |id: &&str| (Arc::from(*id), Arc::from(*id));
    let leader = |(name, server, epoch): &(&str, &str, u64)| {
        (Arc::from(*name), Led { server: Arc::from(*server), epoch: *epoch })
    };
    Seen {
        servers: servers.iter().map(server).collect(),
        leaders: leaders.iter().map(leader).collect(),
    }
}

/// A server of that id that knows the namespace `n`, led by `b` in epoch 1.
fn follower(id: &str) -> Leadership {
    let mut it = Leadership::new(at(0), id.into());
    it.kept_alive(at(0));
    it.names(at(0), ["n".into()]);
    it.observed(at(0), at(0), seen(&["a", "b"], &[("n", "b", 1)]));
    it
}

/// The same, and it leads since 0.
fn leader() -> Leadership {
    let mut it = Leadership::new(at(0), "a".into());
    it.kept_alive(at(0));
    it.names(at(0), ["n".into()]);
    it.leads(at(0), &"n".into(), 7, at(0));
    it
}

fn run(replacing: Option<u64>) -> Vec<Act> {
    vec![Act::Run { namespace: "n".into(), replacing }]
}

fn down(why: Why) -> Vec<Act> {
    vec![Act::StepDown { namespace: "n".into(), why }]
}

#[test]
fn nobody_runs_while_somebody_leads() {
    let mut it = follower("a");
    assert_eq!(it.decide(at(100)), []);
}

#[test]
fn what_is_vacant_is_taken_at_once_by_the_one_that_it_is_meant_for() {
    let mut it = follower("a");
    it.kept_alive(at(100));
    it.observed(at(100), at(100), seen(&["a"], &[]));
    assert_eq!(it.decide(at(100)), run(None));
    assert_eq!(it.decide(at(101)), [], "it is on its way");
}

#[test]
fn others_come_half_a_second_later() {
    let all = ["a", "b", "c"];
    let mut waits = BTreeSet::new();
    for id in all {
        let mut it = follower(id);
        it.observed(at(50), at(50), seen(&all, &[("n", "d", 1)]));
        let mut now = 100;
        let gone = seen(&all, &[]);
        loop {
            it.kept_alive(at(now));
            it.observed(at(now), at(now), gone.clone());
            if it.decide(at(now)) == run(None) {
                break;
            }
            now += 100;
        }
        waits.insert(now - 100);
    }
    assert_eq!(waits.first(), Some(&0));
    assert!(waits.iter().nth(1).is_some_and(|wait| *wait >= 500), "{waits:?}");
}

#[test]
fn a_leader_whose_address_refuses_is_replaced_under_its_own_epoch() {
    let mut it = follower("a");
    it.refuses(at(100), &"b".into());
    assert_eq!(it.decide(at(100)), run(Some(1)));
}

#[test]
fn nothing_is_taken_on_old_news() {
    let mut it = follower("a");
    it.observed(at(100), at(100), seen(&["a"], &[]));
    assert_eq!(it.decide(at(1600)), []);
}

#[test]
fn a_leader_falls_silent_three_seconds_after_it_asked_for_what_was_last_confirmed() {
    let mut it = leader();
    it.kept_alive(at(500));
    it.observed(at(700), at(600), seen(&["a", "b"], &[("n", "a", 7)]));
    assert_eq!(it.confident_until("n"), Some(at(3500)));
    assert_eq!(it.decide(at(3499)), []);
    assert_eq!(it.decide(at(3500)), down(Why::NoConfidence));
    assert_eq!(it.confident_until("n"), None);
}

#[test]
fn a_look_that_was_sent_before_it_led_takes_nothing_from_a_leader() {
    let mut it = leader();
    it.leads(at(450), &"n".into(), 9, at(400));
    it.observed(at(500), at(300), seen(&["a", "b"], &[("n", "b", 8)]));
    assert_eq!(it.decide(at(500)), []);
    it.observed(at(600), at(450), seen(&["a", "b"], &[("n", "b", 10)]));
    assert_eq!(it.decide(at(600)), down(Why::Replaced));
}

#[test]
fn without_its_lease_a_server_leads_nothing() {
    let mut it = leader();
    it.lease_lost();
    it.kept_alive(at(90));
    assert_eq!(it.decide(at(100)), down(Why::LeaseLost));
}

#[test]
fn who_could_not_store_rests_and_takes_its_key_away_until_it_is_gone() {
    let mut it = leader();
    it.observed(at(100), at(100), seen(&["a", "b"], &[("n", "a", 7)]));
    it.stuck(at(200), "n");
    let resign = vec![Act::Resign { namespace: "n".into(), epoch: 7 }];
    assert_eq!(it.decide(at(200)), resign);
    assert_eq!(it.decide(at(250)), [], "once a look");
    it.observed(at(300), at(300), seen(&["a", "b"], &[("n", "a", 7)]));
    assert_eq!(it.decide(at(300)), resign);
    for now in (400..10_200).step_by(100) {
        it.kept_alive(at(now));
        it.observed(at(now), at(now), seen(&["a"], &[]));
        assert_eq!(it.decide(at(now)), [], "{now}");
    }
    it.kept_alive(at(10_300));
    it.observed(at(10_300), at(10_300), seen(&["a"], &[]));
    let later = [it.decide(at(10_300)), it.decide(at(10_301))].concat();
    assert_eq!(later, run(None));
}

#[test]
fn the_key_of_a_namespace_that_is_gone_is_taken_away_once_a_look() {
    let mut it = follower("a");
    let resign = vec![Act::Resign { namespace: "gone".into(), epoch: 3 }];
    for now in [100, 200] {
        it.observed(at(now), at(now), seen(&["a", "b"], &[("n", "b", 1), ("gone", "a", 3)]));
        assert_eq!(it.decide(at(now)), resign);
        assert_eq!(it.decide(at(now + 1)), []);
    }
}

#[test]
fn who_goes_down_hands_everything_over_and_takes_nothing() {
    let mut it = leader();
    it.observed(at(100), at(100), seen(&["a", "b"], &[("n", "a", 7)]));
    it.leave();
    assert_eq!(it.decide(at(100)), [Act::HandOver { namespace: "n".into(), to: "b".into() }]);
    it.ended(at(150), "n");
    it.observed(at(200), at(200), seen(&["a", "b"], &[]));
    assert_eq!(it.decide(at(2000)), []);
}

#[test]
fn leaderships_are_handed_over_for_balance_a_few_at_a_time_once_the_servers_have_settled() {
    let names: Vec<Arc<str>> = (0..8).map(|n| format!("n{n}").into()).collect();
    let mut it = Leadership::new(at(0), "a".into());
    it.names(at(0), names.clone());
    names.iter().for_each(|name| it.leads(at(0), name, 1, at(0)));
    let leaders: Vec<_> = names.iter().map(|name| (&**name, "a", 1)).collect();
    let mut acts = Vec::new();
    for now in (100..8000).step_by(100) {
        it.kept_alive(at(now));
        it.observed(at(now), at(now), seen(&["a", "b"], &leaders));
        acts.extend(it.decide(at(now)).into_iter().map(|act| (now, act)));
    }
    assert_eq!(acts.len(), 2, "{acts:?}");
    assert!(acts.iter().all(|(at, act)| *at >= 5000 && matches!(act, Act::HandOver { .. })));
}

/// Servers over a store with leases, on a network that delays and loses. Whatever
/// happens, two servers are never confident of one namespace at a time.
#[derive(Debug)]
struct World {
    servers: Vec<Server>,
    leader: Option<(usize, u64)>,
    epoch: u64,
}

#[derive(Debug)]
struct Server {
    core: Leadership,
    /// When the store forgets it.
    lease_ends: u64,
    /// Requests on their way: when the store handles them, when the answer arrives.
    asked: Vec<(u64, u64, u64, Ask)>,
}

#[derive(Clone, Debug)]
enum Ask {
    Keep,
    Look(Option<Seen>),
    Lead { replacing: Option<u64>, won: Option<u64> },
}

const STEP: u64 = 50;
const LEASE: u64 = 3000;

impl World {
    fn new(count: usize) -> Self {
        let server = |n: usize| {
            let mut core = Leadership::new(at(0), id(n));
            core.names(at(0), ["n".into()]);
            Server { core, lease_ends: LEASE, asked: Vec::new() }
        };
        Self { servers: (0..count).map(server).collect(), leader: None, epoch: 0 }
    }

    fn seen(&self, now: u64) -> Seen {
        let alive = |n: &usize| self.servers[*n].lease_ends > now;
        let servers = (0..self.servers.len()).filter(alive).map(|n| (id(n), id(n))).collect();
        let led = self.leader.map(|(n, epoch)| ("n".into(), Led { server: id(n), epoch }));
        Seen { servers, leaders: led.into_iter().collect() }
    }

    fn handle(&mut self, now: u64, from: usize, ask: &mut Ask) {
        match ask {
            Ask::Keep if self.servers[from].lease_ends > now => {
                self.servers[from].lease_ends = now + LEASE;
            }
            Ask::Keep => {}
            Ask::Look(shown) => *shown = Some(self.seen(now)),
            Ask::Lead { replacing, won } => {
                let stands = self.leader.map(|(_, epoch)| epoch) == *replacing;
                if stands && self.servers[from].lease_ends > now {
                    self.epoch += 1;
                    self.leader = Some((from, self.epoch));
                    *won = Some(self.epoch);
                }
            }
        }
    }

    fn step(&mut self, now: u64, awake: &[bool], delays: &[u64]) {
        if self.leader.is_some_and(|(n, _)| self.servers[n].lease_ends <= now) {
            self.leader = None;
        }
        for n in 0..self.servers.len() {
            let due: Vec<_> = std::mem::take(&mut self.servers[n].asked);
            for (sent, handled, answered, mut ask) in due {
                if handled > now.saturating_sub(STEP) && handled <= now {
                    self.handle(now, n, &mut ask);
                }
                match answered <= now && awake[n] {
                    true => self.servers[n].answered(now, sent, ask),
                    false => self.servers[n].asked.push((sent, handled, answered, ask)),
                }
            }
            if awake[n] {
                self.servers[n].act(now, delays[n]);
            }
        }
    }

    fn confident(&self, now: u64) -> usize {
        let sure = |server: &&Server| {
            server.core.confident_until("n").is_some_and(|until| at(now) < until)
        };
        self.servers.iter().filter(sure).count()
    }
}

impl Server {
    fn answered(&mut self, now: u64, sent: u64, ask: Ask) {
        match ask {
            Ask::Keep if self.lease_ends > now => self.core.kept_alive(at(sent)),
            Ask::Keep => {}
            Ask::Look(shown) => {
                if let Some(shown) = shown {
                    self.core.observed(at(now), at(sent), shown);
                }
            }
            Ask::Lead { won: Some(epoch), .. } => {
                self.core.leads(at(now), &"n".into(), epoch, at(sent))
            }
            Ask::Lead { won: None, .. } => self.core.ended(at(now), "n"),
        }
    }

    fn act(&mut self, now: u64, delay: u64) {
        let mut ask = |ask| self.asked.push((now, now + delay, now + 2 * delay, ask));
        if now.is_multiple_of(500) {
            ask(Ask::Keep);
            ask(Ask::Look(None));
        }
        for act in self.core.decide(at(now)) {
            match act {
                Act::Run { replacing, .. } => ask(Ask::Lead { replacing, won: None }),
                Act::StepDown { namespace, .. } => self.core.ended(at(now), &namespace),
                Act::HandOver { .. } | Act::Resign { .. } => {}
            }
        }
    }
}

fn id(number: usize) -> Arc<str> {
    format!("s{number}").into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn two_servers_are_never_confident_at_a_time_and_somebody_leads_in_the_end(
        phases in proptest::collection::vec(
            (proptest::collection::vec(any::<bool>(), 3), proptest::collection::vec(1_u64..40, 3), 10_u64..120),
            1..12,
        ),
    ) {
        let mut world = World::new(3);
        let mut now = 0;
        for (awake, delays, steps) in &phases {
            for _ in 0..*steps {
                let delays: Vec<_> = delays.iter().map(|it| it * STEP).collect();
                world.step(now, awake, &delays);
                prop_assert!(world.confident(now) <= 1, "{} {:?}", now, world);
                now += STEP;
            }
        }
        // All is well again, and leases that have run out are granted anew.
        for server in &mut world.servers {
            server.lease_ends = now + LEASE;
        }
        for _ in 0..200 {
            world.step(now, &[true; 3], &[STEP; 3]);
            prop_assert!(world.confident(now) <= 1);
            now += STEP;
        }
        prop_assert_eq!(world.confident(now), 1);
    }
}
