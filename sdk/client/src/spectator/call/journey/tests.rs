use proptest::prelude::*;

use super::*;

const WITHIN: Duration = Duration::from_secs(5);

fn grant(executor: u64, generation: u64) -> Grant {
    Grant { executor: executor.to_string().into(), generation }
}

fn next_owner(executor: u64) -> NextOwner {
    NextOwner { executor_id: executor.to_string().into(), address: None }
}

fn view(now: u64, grant: Option<&Grant>, role: Option<Role>) -> View<'_> {
    View { now: Time::from_millis(now), grant, role, crowd: false }
}

#[test]
fn what_the_map_names_is_tried_at_once_and_a_move_is_followed_once() {
    let (mut journey, old, new) = (Journey::new(Time::ZERO, WITHIN), grant(1, 7), grant(2, 8));
    assert_eq!(journey.next(view(0, Some(&old), None)), Step::Send);
    journey.refused(Time::ZERO, Some(old.clone()), Some(next_owner(2)), 0.0);
    assert_eq!(journey.next(view(0, Some(&old), None)), Step::Follow(next_owner(2)));
    journey.refused(Time::ZERO, Some(old.clone()), Some(next_owner(3)), 0.0);
    assert_eq!(journey.next(view(0, Some(&old), None)), Step::Sit);
    assert_eq!(journey.next(view(0, Some(&new), None)), Step::Send);
    journey.refused(Time::ZERO, Some(new.clone()), Some(next_owner(3)), 0.0);
    assert_eq!(journey.next(view(0, Some(&new), None)), Step::Follow(next_owner(3)));
}

#[test]
fn whoever_comes_while_others_are_held_sits_down_too() {
    let (mut journey, old) = (Journey::new(Time::ZERO, WITHIN), grant(1, 7));
    let crowded = View { crowd: true, ..view(0, Some(&old), None) };
    assert_eq!(journey.next(crowded), Step::Sit);
    let deadline = Time::ZERO + WITHIN;
    assert_eq!(journey.next(view(0, Some(&old), Some(Role::Waiter))), Step::Wait(deadline));
    journey.released();
    assert_eq!(journey.next(view(1, Some(&old), None)), Step::Send);
}

#[test]
fn a_shard_that_the_map_does_not_know_is_asked_for_by_the_scout_at_once() {
    let mut journey = Journey::new(Time::ZERO, WITHIN);
    assert_eq!(journey.next(view(0, None, None)), Step::Sit);
    assert_eq!(journey.next(view(0, None, Some(Role::Scout))), Step::Ask);
    journey.asked(Time::ZERO, false, 1.0);
    let later = Time::from_millis(2);
    assert_eq!(journey.next(view(0, None, Some(Role::Scout))), Step::Wait(later));
    assert_eq!(journey.next(view(2, None, Some(Role::Scout))), Step::Ask);
}

#[test]
fn a_scout_doubts_the_map_after_four_pauses() {
    let (mut journey, old) = (Journey::new(Time::ZERO, WITHIN), grant(1, 7));
    let mut steps = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..5 {
        journey.refused(now, Some(old.clone()), None, 1.0);
        let look = |now| View { now, ..view(0, Some(&old), Some(Role::Scout)) };
        let Step::Wait(until) = journey.next(look(now)) else { panic!("no pause") };
        now = until;
        steps.push(journey.next(look(now)));
    }
    assert_eq!(steps, [Step::Send, Step::Send, Step::Send, Step::Ask, Step::Ask]);
    journey.asked(now, true, 1.0);
    assert_eq!(journey.next(View { now, ..view(0, Some(&old), Some(Role::Scout)) }), Step::Send);
}

#[test]
fn a_scout_that_may_not_ask_waits_longer_each_time_unless_it_is_called() {
    let mut journey = Journey::new(Time::ZERO, WITHIN);
    let mut waits = Vec::new();
    for _ in 0..6 {
        assert_eq!(journey.next(view(0, None, Some(Role::Scout))), Step::Ask);
        journey.put_off(Time::from_millis(100), false, 1.0);
        let Step::Wait(until) = journey.next(view(0, None, Some(Role::Scout))) else {
            panic!("it asks before its turn")
        };
        waits.push(until.since(Time::ZERO).as_millis());
        journey.called(Time::ZERO);
    }
    assert_eq!(waits, [300, 500, 900, 1_700, 2_100, 2_100]);
}

#[test]
fn a_scout_that_may_not_ask_tries_the_owner_that_is_known() {
    let (mut journey, old) = (Journey::new(Time::ZERO, WITHIN), grant(1, 7));
    (0..5).for_each(|_| journey.refused(Time::ZERO, Some(old.clone()), None, 0.0));
    assert_eq!(journey.next(view(100, Some(&old), Some(Role::Scout))), Step::Ask);
    journey.put_off(Time::from_millis(900), true, 1.0);
    assert_eq!(journey.next(view(100, Some(&old), Some(Role::Scout))), Step::Send);
}

// === any story ===

/// What the world does between two steps.
#[derive(Clone, Debug)]
struct Turn {
    millis: u64,
    /// The map names another grant, or none.
    map: Option<Option<u64>>,
    /// Those who are held are let go.
    go: bool,
    /// The scout left.
    promoted: bool,
    /// The answer to whatever is sent: who is named instead.
    moved_to: Option<u64>,
    /// The answer to whoever wants to ask: not before so many milliseconds.
    put_off: Option<u64>,
    chance: f64,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let map = prop_oneof![
        6 => Just(None),
        2 => (1..4_u64).prop_map(|executor| Some(Some(executor))),
        1 => Just(Some(None)),
    ];
    let turn = (
        0..200_u64,
        map,
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.2),
        proptest::option::of(1..4_u64),
        proptest::option::of(1..1_000_u64),
        0.0..1.0,
    );
    let turn = turn.prop_map(|(millis, map, go, promoted, moved_to, put_off, chance)| Turn {
        millis,
        map,
        go,
        promoted,
        moved_to,
        put_off,
        chance,
    });
    proptest::collection::vec(turn, 1..80)
}

/// One request that everybody refuses, and what it must not do.
struct Story {
    journey: Journey,
    now: Time,
    grant: Option<Grant>,
    generation: u64,
    role: Option<Role>,
    /// The grant that refused last, and when, since the last news.
    refused: Option<(Grant, Time)>,
    followed: bool,
}

impl Story {
    fn turn(&mut self, turn: &Turn) -> Result<bool, TestCaseError> {
        self.now += Duration::from_millis(turn.millis);
        self.news(turn);
        let before = self.refused.clone();
        let step = self.journey.next(View {
            now: self.now,
            grant: self.grant.as_ref(),
            role: self.role,
            crowd: false,
        });
        let over = self.now >= Time::ZERO + WITHIN;
        prop_assert_eq!(step == Step::GiveUp, over);
        match step {
            Step::GiveUp => return Ok(false),
            Step::Sit => self.role = Some(Role::Waiter),
            Step::Wait(until) => prop_assert!(until > self.now),
            Step::Ask => {
                prop_assert_eq!(self.role, Some(Role::Scout));
                let known = self.grant.is_some();
                match turn.put_off {
                    Some(millis) => {
                        let until = self.now + Duration::from_millis(millis);
                        self.journey.put_off(until, known, turn.chance);
                    }
                    None => self.journey.asked(self.now, known, turn.chance),
                }
            }
            Step::Follow(_) => {
                prop_assert!(!self.followed, "followed twice for one grant");
                self.followed = true;
                self.refuse(turn);
            }
            Step::Send => {
                if let Some((grant, at)) = before.filter(|it| Some(&it.0) == self.grant.as_ref()) {
                    prop_assert_eq!(self.role, Some(Role::Scout), "{:?} again", grant);
                    prop_assert!(self.now - at >= FIRST_PAUSE / 2, "no pause");
                } else {
                    self.followed = false;
                }
                self.refuse(turn);
            }
        }
        Ok(true)
    }

    fn news(&mut self, turn: &Turn) {
        if let Some(map) = turn.map {
            self.generation += 1;
            self.grant = map.map(|executor| grant(executor, self.generation));
        }
        if turn.promoted && self.role == Some(Role::Waiter) {
            self.role = Some(Role::Scout);
            self.journey.made_scout(self.now, turn.chance);
        }
        if turn.go && self.role.is_some() {
            self.role = None;
            self.refused = None;
            self.followed = false;
            self.journey.released();
        }
    }

    fn refuse(&mut self, turn: &Turn) {
        let moved_to = turn.moved_to.map(next_owner);
        self.journey.refused(self.now, self.grant.clone(), moved_to, turn.chance);
        if self.refused.as_ref().map(|it| &it.0) != self.grant.as_ref() {
            self.followed = false;
        }
        self.refused = self.grant.clone().map(|grant| (grant, self.now));
    }
}

proptest! {
    #[test]
    fn no_owner_is_bothered_twice_without_a_pause_and_nothing_is_sent_too_late(
        turns in turns(),
    ) {
        let mut story = Story {
            journey: Journey::new(Time::ZERO, WITHIN),
            now: Time::ZERO,
            grant: Some(grant(1, 0)),
            generation: 0,
            role: None,
            refused: None,
            followed: false,
        };
        for turn in &turns {
            if !story.turn(turn)? {
                break;
            }
        }
    }
}
