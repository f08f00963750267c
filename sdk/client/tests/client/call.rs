//! Requests on their way through handovers.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_client::{
    BoxError, CallError, LookupError, NextOwner, NotHere, Owner, Redirect, Spectator,
    SpectatorBuilder,
};
use tokio::time::Instant;
use tonic::Status;

use crate::fake::{Fake, soon};
use crate::spectator::{Set, moved};

/// The executors that were asked, in order.
type Asked = Arc<Mutex<Vec<String>>>;

#[tokio::test]
async fn a_request_goes_to_the_owner_and_its_answer_comes_back() {
    let mut set = Set::up(&[("1", "a", 7)]).await;
    let answer = set.spectator.call("1", |owner| async move {
        Ok::<_, Status>((owner.executor_id().to_owned(), owner.generation()))
    });
    assert_eq!(answer.await.unwrap(), ("a".to_owned(), 7));
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn an_error_of_the_owners_own_is_the_answer() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    let answer = set.spectator.call("1", |owner| {
        note(&asked, &owner);
        async { Err::<(), _>(Status::unavailable("out of seats")) }
    });
    assert!(
        matches!(answer.await, Err(CallError::Failed(error)) if error.message() == "out of seats")
    );
    assert_eq!(names(&asked), ["a"]);
}

#[tokio::test]
async fn a_move_is_followed_once_and_then_held_until_the_map_has_it() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    // Neither knows it for the time being: a sends on to b, b has not started it.
    let answer = set.spectator.call("1", |owner| {
        note(&asked, &owner);
        let (spectator, watch) = (&set.spectator, &set.watch);
        async move {
            match owner.generation() {
                8 => Ok(owner.address().map(str::to_owned)),
                7 => Err(went_to("b")),
                _ => {
                    watch.say(moved(1, "1", "b", 8));
                    let mut changes = spectator.changes();
                    soon(changes.wait_for(|revision| *revision == 2)).await.unwrap();
                    Err(went_to("c"))
                }
            }
        }
    });
    assert_eq!(answer.await.unwrap(), Some("b:80".to_owned()));
    assert_eq!(names(&asked), ["a", "b", "b"]);
}

#[tokio::test]
async fn of_a_crowd_one_tries_again_and_all_go_when_the_map_has_news() {
    const CROWD: usize = 50;
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(tokio::spawn(ask(set.spectator.clone(), Arc::clone(&asked))));
    }
    soon(until(|| set.spectator.stats().holding == CROWD as u64)).await;
    let before = names(&asked).len();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let tries = names(&asked).len() - before;
    assert!(tries < 20, "{tries} tries: not one scout but a crowd");
    set.watch.say(moved(1, "1", "b", 8));
    for one in crowd {
        assert_eq!(soon(one).await.unwrap().unwrap(), "b");
    }
    assert_eq!(set.spectator.stats().holding, 0);
}

#[tokio::test]
async fn a_scout_that_gets_through_lets_the_others_go() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    let tries = Arc::clone(&asked);
    // It is a once more, after ten tries of whoever.
    let send = move |owner: Owner| {
        note(&tries, &owner);
        let here = names(&tries).len() > 10;
        async move { if here { Ok(()) } else { Err(not_here()) } }
    };
    let calls = (0..8).map(|_| {
        let (spectator, send) = (set.spectator.clone(), send.clone());
        tokio::spawn(async move { spectator.call("1", send).await })
    });
    for call in calls.collect::<Vec<_>>() {
        soon(call).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_scout_whose_request_takes_long_has_got_through() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let (asked, gate) = (Asked::default(), Arc::new(tokio::sync::Semaphore::new(0)));
    let (tries, waits) = (Arc::clone(&asked), Arc::clone(&gate));
    // Two are refused, the third is slow, the fourth is quick.
    let send = move |owner: Owner| {
        note(&tries, &owner);
        let (count, waits) = (names(&tries).len(), Arc::clone(&waits));
        async move {
            match count {
                1 | 2 => return Err(not_here()),
                3 => drop(waits.acquire().await.unwrap()),
                _ => {}
            }
            Ok(count)
        }
    };
    let slow = tokio::spawn({
        let (spectator, send) = (set.spectator.clone(), send.clone());
        async move { spectator.call("1", send).await }
    });
    soon(until(|| names(&asked).len() == 3)).await;
    assert_eq!(soon(set.spectator.call("1", send)).await.unwrap(), 4);
    gate.add_permits(1);
    assert_eq!(soon(slow).await.unwrap().unwrap(), 3);
}

#[tokio::test]
async fn a_scout_that_is_gone_is_replaced() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let asked = Asked::default();
    let scout = tokio::spawn(ask(set.spectator.clone(), Arc::clone(&asked)));
    soon(until(|| set.spectator.stats().holding == 1)).await;
    let other = tokio::spawn(ask(set.spectator.clone(), Asked::default()));
    soon(until(|| set.spectator.stats().holding == 2)).await;
    scout.abort();
    soon(until(|| set.spectator.stats().holding == 1)).await;
    let before = set.spectator.stats().refused;
    soon(until(|| set.spectator.stats().refused > before + 2)).await;
    other.abort();
    soon(until(|| set.spectator.stats().holding == 0)).await;
}

#[tokio::test]
async fn nothing_is_held_beyond_its_time() {
    let hold = Duration::from_millis(40);
    let set = Set::up_as(&[("1", "a", 7)], |builder: SpectatorBuilder| builder.hold_within(hold));
    let (set, begun) = (set.await, Instant::now());
    let gave_up = ask(set.spectator.clone(), Asked::default()).await;
    let Err(CallError::GaveUp { tries, waited, last: Some(_), .. }) = gave_up else {
        panic!("{gave_up:?}")
    };
    assert!(tries > 1 && waited >= hold && begun.elapsed() < Duration::from_secs(2));
    let stats = set.spectator.stats();
    assert_eq!((stats.holding, stats.gave_up), (0, 1));
}

#[tokio::test]
async fn no_more_are_held_than_may_be() {
    let set = Set::up_as(&[("1", "a", 7)], |builder| builder.hold_at_most(1)).await;
    let held = tokio::spawn(ask(set.spectator.clone(), Asked::default()));
    soon(until(|| set.spectator.stats().holding == 1)).await;
    let full = ask(set.spectator.clone(), Asked::default()).await;
    assert!(matches!(full, Err(CallError::Full { held: 1, .. })), "{full:?}");
    held.abort();
}

#[tokio::test]
async fn a_key_that_the_map_does_not_know_costs_a_crowd_one_call() {
    let mut set = Set::up(&[]).await;
    let calls: Vec<_> =
        (0..10).map(|_| tokio::spawn(ask(set.spectator.clone(), Asked::default()))).collect();
    soon(until(|| set.spectator.stats().holding == 10)).await;
    set.fake.lookup().await.answer("b", 9);
    for call in calls {
        assert_eq!(soon(call).await.unwrap().unwrap(), "b");
    }
    assert!(set.fake.was_not_asked());
}

#[tokio::test]
async fn a_crowd_of_new_keys_goes_as_fast_as_the_server_answers() {
    const KEYS: u64 = 300;
    let set = Set::up(&[]).await;
    let mut fake = set.fake;
    let answering = tokio::spawn(async move {
        for generation in 1..=KEYS {
            fake.lookup().await.answer("b", generation);
        }
        fake
    });
    let calls: Vec<_> = (0..KEYS)
        .map(|key| tokio::spawn(ask_for(set.spectator.clone(), key.to_string())))
        .collect();
    let begun = Instant::now();
    for call in calls {
        assert_eq!(soon(call).await.unwrap().unwrap(), "b");
    }
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(answering.await.unwrap().was_not_asked(), "one call a key");
}

/// How often it is asked in 3 s, and all go at once when the map has the news.
#[tokio::test]
async fn while_the_watch_is_there_sixty_shards_without_an_owner_cost_next_to_nothing() {
    let set = Set::up(&[]).await;
    let (lookups, refusing) = refuse_all(set.fake);
    let crowd = hold_sixty_shards(&set.spectator).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let asked = lookups.load(Ordering::Relaxed);
    assert!((1..=9).contains(&asked), "{asked}: 5 and one a second");
    let told = Instant::now();
    for shard in 0..60 {
        set.watch.say(moved(1 + shard, &shard.to_string(), "b", 8));
    }
    for one in crowd {
        assert_eq!(soon(one).await.unwrap().unwrap(), "b");
    }
    assert!(told.elapsed() < Duration::from_millis(500), "{:?}", told.elapsed());
    refusing.abort();
}

#[tokio::test]
async fn while_the_watch_is_away_sixty_shards_without_an_owner_cost_five_lookups_a_second() {
    let set = Set::up(&[]).await;
    let (lookups, refusing) = refuse_all(set.fake);
    drop(set.watch);
    let crowd = hold_sixty_shards(&set.spectator).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let asked = lookups.load(Ordering::Relaxed);
    assert!((8..=22).contains(&asked), "{asked}: 5 and five a second");
    crowd.iter().for_each(tokio::task::JoinHandle::abort);
    refusing.abort();
}

type Asking = tokio::task::JoinHandle<Result<String, CallError<NotHere>>>;

/// Four requests for each shard.
async fn hold_sixty_shards(spectator: &Spectator) -> Vec<Asking> {
    let ask = |n: usize| tokio::spawn(ask_for(spectator.clone(), (n % 60).to_string()));
    let crowd = (0..240).map(ask).collect();
    soon(until(|| spectator.stats().holding == 240)).await;
    crowd
}

/// A server that has nobody to name and lets nobody watch again; counts lookups.
fn refuse_all(mut fake: Fake) -> (Arc<AtomicUsize>, tokio::task::JoinHandle<()>) {
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    let refusing = tokio::spawn(async move {
        loop {
            fake.refuse(&counted).await;
        }
    });
    (lookups, refusing)
}

#[tokio::test]
async fn where_waiting_does_not_help_nothing_is_held() {
    let mut set = Set::up(&[]).await;
    let fail = async { set.fake.lookup().await.fail(Status::failed_precondition("drained")) };
    let call = ask(set.spectator.clone(), Asked::default());
    let (answer, ()) = tokio::join!(soon(call), fail);
    assert!(matches!(answer, Err(CallError::Lookup(LookupError::Drained { .. }))), "{answer:?}");
}

#[tokio::test]
async fn an_owner_that_is_dead_is_waited_for_until_there_is_another() {
    let set = Set::up(&[("1", "a", 7)]).await;
    let call = set.spectator.call("1", |owner| async move {
        match owner.executor_id() {
            "a" => Err(BoxError::from(io::Error::from(io::ErrorKind::ConnectionRefused))),
            other => Ok(other.to_owned()),
        }
    });
    let replaced = async {
        soon(until(|| set.spectator.stats().refused > 1)).await;
        set.watch.say(moved(1, "1", "b", 8));
    };
    let (answer, ()) = tokio::join!(soon(call), replaced);
    assert_eq!(answer.unwrap(), "b");
}

#[tokio::test]
async fn a_call_can_be_waited_for_in_a_task() {
    fn in_a_task(_: impl Future + Send) {}
    let set = Set::up(&[("1", "a", 7)]).await;
    in_a_task(set.spectator.call("1", |_| async { Ok::<_, Status>(()) }));
}

/// Asks for shard 1: of all executors but "a", which refuses without a word more.
async fn ask(spectator: Spectator, asked: Asked) -> Result<String, CallError<NotHere>> {
    let send = |owner: Owner| {
        note(&asked, &owner);
        async move {
            match owner.executor_id() {
                "a" => Err(not_here()),
                other => Ok(other.to_owned()),
            }
        }
    };
    spectator.call("1", send).await
}

/// The same for any shard, whoever owns it.
async fn ask_for(spectator: Spectator, shard: String) -> Result<String, CallError<NotHere>> {
    let send = |owner: Owner| async move { Ok(owner.executor_id().to_owned()) };
    spectator.call(&shard, send).await
}

fn not_here() -> NotHere {
    let not_here = NotHere { shard: "1".into(), next: None };
    assert!(not_here.redirect().is_some());
    not_here
}

fn went_to(executor: &str) -> NotHere {
    let address = Some(format!("{executor}:80").into());
    let next = NextOwner { executor_id: executor.into(), address };
    NotHere { shard: "1".into(), next: Some(next) }
}

fn note(asked: &Asked, owner: &Owner) {
    asked.lock().unwrap().push(owner.executor_id().to_owned());
}

fn names(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().clone()
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
