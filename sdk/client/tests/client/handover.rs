//! The executor's half of a handover: prepare, drain, state, "it went there".

use std::time::Duration;

use plimsoll_client::{Contact, NextOwner, NotHere};
use plimsoll_wire::v1::Holding;
use plimsoll_wire::v1::session_request::Message as Said;

use crate::executor::{SHORT, Set, start, stop};
use crate::fake::{LONG, goodbye, handed_over, prepared, soon, started, stopped};
use crate::recorder::{Event, Outcome, application};

#[tokio::test]
async fn a_shard_is_handed_over_when_the_last_request_has_ended() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let serving = set.executor.serve("1").await.unwrap();
    assert_eq!(serving.generation(), 7);
    assert_eq!(set.recorder.event().await, start("1", 7));
    set.session.revoke_for("1", 7, "b");
    let refused = until_refused(&set).await;
    let next = NextOwner { executor_id: "b".into(), address: Some("b:80".into()) };
    assert_eq!(refused, NotHere { shard: "1".into(), next: Some(next) });
    for _ in 0..3 {
        set.session.beat().await;
    }
    assert!(set.recorder.is_quiet(), "the request is not cut");
    assert!(!serving.is_lost());
    drop(serving);
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
    assert_eq!(set.executor.serve("1").await.unwrap_err(), refused, "it is known still");
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_told_and_waited_for_no_more() {
    let drain = Duration::from_millis(30);
    let mut set =
        Set::up_as(LONG, &[("1", 7)], application(), |builder| builder.drain_within(drain)).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let serving = set.executor.serve("1").await.unwrap();
    set.session.revoke("1", 7);
    soon(serving.lost()).await;
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
}

#[tokio::test]
async fn the_end_of_the_lease_waits_for_no_request() {
    let mut set = Set::up(SHORT, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let serving = set.executor.serve("1").await.unwrap();
    soon(serving.lost()).await;
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.executor.try_serve("1").unwrap_err().next, None);
}

#[tokio::test]
async fn the_end_of_the_lease_ends_a_drain_that_is_under_way() {
    let mut set = Set::up(SHORT, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let serving = set.executor.serve("1").await.unwrap();
    let mut contact = set.executor.contact();
    set.session.revoke("1", 7);
    soon(serving.lost()).await;
    assert_eq!(
        *soon(contact.wait_for(|it| *it == Contact::LeaseEnded)).await.unwrap(),
        Contact::LeaseEnded
    );
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.recorder.event().await, stop("1", 7));
}

#[tokio::test]
async fn what_an_owner_hands_over_is_given_to_the_next_start() {
    let mut set = Set::up(LONG, &[]).await;
    set.session.grant_from("1", 7, "a", b"the state");
    assert_eq!(set.session.word().await, started("1", 7));
    let given = (Some(b"the state".to_vec()), Some("a".to_owned()));
    assert_eq!(*set.recorder.gates.given.lock().unwrap(), [given]);
    *set.recorder.gates.state.lock().unwrap() = b"later".to_vec();
    set.session.revoke("1", 7);
    assert_eq!(set.session.word().await, handed_over("1", 7, b"later"));
}

#[tokio::test]
async fn what_an_owner_hands_over_is_told_again_when_the_stream_breaks() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    *set.recorder.gates.state.lock().unwrap() = b"later".to_vec();
    set.session.revoke("1", 7);
    assert_eq!(set.session.word().await, handed_over("1", 7, b"later"));
    drop(set.session);
    let mut session = set.fake.session().await;
    let running = Holding { shard_key: "1".into(), generation: 7, stopping: true };
    assert_eq!(session.hello().await.running, [running]);
    assert_eq!(session.word().await, handed_over("1", 7, b"later"));
}

#[tokio::test]
async fn a_shard_that_is_revoked_right_after_a_welcome_is_handed_over() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    *set.recorder.gates.state.lock().unwrap() = b"later".to_vec();
    drop(set.session);
    let mut session = set.fake.session().await;
    session.hello().await;
    session.welcome(LONG, &[("1", 7)]);
    session.revoke("1", 7);
    assert_eq!(session.word().await, started("1", 7));
    assert_eq!(session.word().await, handed_over("1", 7, b"later"));
}

#[tokio::test]
async fn a_state_that_is_too_long_is_left_out() {
    let mut set = Set::up(LONG, &[("1", 7), ("2", 8)]).await;
    for shard in ["1", "2"] {
        assert!(matches!(set.session.word().await, Said::Started(_)), "{shard}");
    }
    *set.recorder.gates.state.lock().unwrap() = vec![1; 1024 * 1024];
    set.session.revoke("1", 7);
    assert_eq!(set.session.word().await, handed_over("1", 7, &[1; 1024 * 1024]));
    *set.recorder.gates.state.lock().unwrap() = vec![1; 1024 * 1024 + 1];
    set.session.revoke("2", 8);
    assert_eq!(set.session.word().await, stopped("2", 8, ""));
}

#[tokio::test]
async fn a_shard_is_prepared_before_it_comes_and_requests_wait_for_it() {
    let mut set = Set::up(LONG, &[]).await;
    set.session.prepare("1", 7);
    assert_eq!(set.session.word().await, prepared("1", 7, ""));
    assert_eq!(set.recorder.event().await, Event::Prepare("1".into()));
    assert!(set.executor.try_serve("1").is_err(), "it is not here yet");
    let serve = set.executor.serve("1");
    let grant = async {
        set.session.grant_from("1", 8, "a", b"");
        assert_eq!(set.session.word().await, started("1", 8));
    };
    let (serving, ()) = tokio::join!(soon(serve), grant);
    assert_eq!(serving.unwrap().generation(), 8);
}

#[tokio::test]
async fn a_request_does_not_wait_for_ever_for_a_shard_that_is_about_to_come() {
    let hold = Duration::from_millis(20);
    let configure = |builder: plimsoll_client::ExecutorBuilder<_>| builder.hold_within(hold);
    let mut set = Set::up_as(LONG, &[], application(), configure).await;
    set.session.prepare("1", 7);
    assert_eq!(set.session.word().await, prepared("1", 7, ""));
    assert_eq!(soon(set.executor.serve("1")).await.unwrap_err().next, None);
}

#[tokio::test]
async fn what_does_not_come_is_given_free_and_requests_wait_no_more() {
    let mut set = Set::up(LONG, &[]).await;
    set.session.prepare("1", 7);
    assert_eq!(set.session.word().await, prepared("1", 7, ""));
    assert_eq!(set.recorder.event().await, Event::Prepare("1".into()));
    let abandon = async { set.session.abandon("1", 7) };
    let (serving, ()) = tokio::join!(soon(set.executor.serve("1")), abandon);
    assert!(serving.is_err());
    assert_eq!(set.recorder.event().await, Event::Abandon("1".into()));
}

#[tokio::test]
async fn a_preparation_that_fails_or_panics_is_told() {
    let mut set = Set::up(LONG, &[]).await;
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Fails;
    set.session.prepare("1", 7);
    assert_eq!(set.session.word().await, prepared("1", 7, "disk full"));
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Panics;
    set.session.prepare("2", 7);
    assert_eq!(set.session.word().await, prepared("2", 7, "prepare panicked"));
}

#[tokio::test]
async fn a_shard_that_comes_while_it_is_prepared_starts_after_that_was_cancelled() {
    let mut set = Set::up(LONG, &[]).await;
    set.recorder.gates.prepare.close();
    set.session.prepare("1", 7);
    assert_eq!(set.recorder.event().await, Event::Prepare("1".into()));
    set.session.grant("1", 8);
    assert_eq!(set.recorder.event().await, start("1", 8));
    assert_eq!(set.session.word().await, started("1", 8), "it is prepared no more");
    assert!(set.recorder.is_quiet(), "what was used is not given free");
}

#[tokio::test]
async fn an_executor_that_comes_back_says_so_and_gives_nothing_to_others_first() {
    let configure = |builder: plimsoll_client::ExecutorBuilder<_>| builder.returning(true);
    let mut set = Set::up_as(LONG, &[("1", 7)], application(), configure).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let hear = async {
        let mut last = set.session.word().await;
        while !matches!(last, Said::Goodbye(_)) {
            assert_ne!(last, goodbye());
            last = set.session.word().await;
        }
        set.session.farewell(plimsoll_wire::v1::farewell::Reason::Goodbye);
        last
    };
    let (gone, last) = tokio::join!(soon(set.executor.shutdown()), hear);
    assert_eq!(gone, Ok(()));
    assert_eq!(last, Said::Goodbye(plimsoll_wire::v1::Goodbye { returning: true }));
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.recorder.event().await, stop("1", 7));
}

/// Until the revocation has been heard.
async fn until_refused(set: &Set) -> NotHere {
    soon(async {
        loop {
            match set.executor.try_serve("1") {
                Err(refused) => return refused,
                Ok(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await
}
