//! What becomes of an executor when no server is in touch.

use std::time::Duration;

use plimsoll_client::{Contact, Executor, Ownership};
use plimsoll_wire::v1::farewell::Reason;
use plimsoll_wire::v1::session_response::Message as Saying;
use plimsoll_wire::v1::{LeaseEnd, Welcome};

use crate::executor::{SHORT, Set, start};
use crate::fake::{Fake, LONG, soon, started};
use crate::recorder::application;

#[tokio::test]
async fn shards_run_on_while_the_lease_lasts_and_nothing_is_restarted_afterwards() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let mut contact = set.executor.contact();
    assert_eq!(*contact.borrow_and_update(), Contact::Connected);
    drop(set.session);
    let mut session = set.fake.session().await;
    assert_eq!(session.hello().await.running.len(), 1);
    assert_eq!(*contact.borrow_and_update(), Contact::Away);
    assert_eq!(set.executor.owns("1"), Some(Ownership { generation: 7 }));
    session.welcome(LONG, &[("1", 7)]);
    soon(contact.changed()).await.unwrap();
    assert_eq!(*contact.borrow(), Contact::Connected);
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert!(set.recorder.is_quiet(), "it ran on");
}

#[tokio::test]
async fn with_lease_end_keep_the_shards_outlive_the_lease_and_that_is_told() {
    let mut fake = Fake::start().await;
    let (application, mut recorder) = application();
    let builder = Executor::builder("counters", application).connect(fake.url());
    let serve = async {
        let mut session = fake.session().await;
        session.hello().await;
        session.say(Saying::Welcome(Welcome {
            lease_ms: SHORT.lease_ms,
            beat_ms: SHORT.beat_ms,
            lease_end: LeaseEnd::Keep.into(),
            grants: vec![plimsoll_wire::v1::Grant {
                shard_key: "1".into(),
                generation: 7,
                ..Default::default()
            }],
            ..Welcome::default()
        }));
        session
    };
    let (executor, mut session) = tokio::join!(builder.start(), serve);
    let executor = executor.unwrap();
    assert_eq!(session.word().await, started("1", 7));
    let mut contact = executor.contact();
    drop((session, fake));
    soon(contact.wait_for(|it| *it == Contact::LeaseOutlived)).await.unwrap();
    assert_eq!(executor.owns("1"), Some(Ownership { generation: 7 }));
    assert_eq!(executor.stats().leases_ended, 1);
    assert_eq!(recorder.event().await, start("1", 7));
    assert!(recorder.is_quiet(), "it runs on");
}

#[tokio::test]
async fn an_executor_whose_server_leaves_goes_on_with_another() {
    let mut servers = [Fake::start().await, Fake::start().await];
    let (application, mut recorder) = application();
    let list = format!("{},{}", servers[0].url(), servers[1].url());
    let builder = Executor::builder("counters", application).connect(list);
    let serve = async {
        let [one, other] = &mut servers;
        let (at, mut session) = tokio::select! {
            session = one.session() => (0, session),
            session = other.session() => (1, session),
        };
        session.hello().await;
        session.welcome(LONG, &[("1", 7)]);
        (at, session)
    };
    let (executor, (at, mut session)) = tokio::join!(builder.start(), serve);
    let executor = executor.unwrap();
    assert_eq!(session.word().await, started("1", 7));
    session.farewell(Reason::ServerLeaving);
    let mut session = servers[1 - at].session().await;
    assert_eq!(session.hello().await.running.len(), 1);
    session.welcome(LONG, &[("1", 7)]);
    assert_eq!(session.word().await, started("1", 7));
    assert_eq!(executor.owns("1"), Some(Ownership { generation: 7 }));
    assert_eq!(recorder.event().await, start("1", 7));
    assert!(recorder.is_quiet(), "it ran on");
}

/// A thousand clients that lose one of three servers come to the other two evenly,
/// and over some time.
#[tokio::test]
async fn executors_of_a_server_that_leaves_spread_over_the_others_and_over_time() {
    const EXECUTORS: usize = 60;
    let mut servers = [Fake::start().await, Fake::start().await, Fake::start().await];
    let list: Vec<_> = servers.iter().map(Fake::url).collect();
    let mut executors = Vec::new();
    for n in 0..EXECUTORS {
        let (application, _) = application();
        let builder = Executor::builder("counters", application).connect(list.join(","));
        let id = format!("x{n}");
        executors.push(tokio::spawn(builder.id(id).start()));
    }
    let mut met = [0; 3];
    let mut leaving = Vec::new();
    for _ in 0..EXECUTORS {
        let (at, mut session) = any_session(&mut servers).await;
        session.hello().await;
        session.welcome(LONG, &[]);
        met[at] += 1;
        leaving.push(session);
    }
    assert!(met.iter().all(|met| (5..=35).contains(met)), "{met:?}");
    let begun = tokio::time::Instant::now();
    leaving.iter().for_each(|session| session.farewell(Reason::ServerLeaving));
    let (mut met, mut came) = ([0; 3], Vec::new());
    for _ in 0..EXECUTORS {
        let (at, mut session) = any_session(&mut servers).await;
        session.hello().await;
        session.welcome(LONG, &[]);
        met[at] += 1;
        came.push(begun.elapsed());
        leaving.push(session);
    }
    assert!(met.iter().all(|met| (5..=35).contains(met)), "{met:?}");
    let spread = came[EXECUTORS * 9 / 10] - came[EXECUTORS / 10];
    assert!(spread > Duration::from_millis(15), "all at once: {spread:?}");
}

async fn any_session(servers: &mut [Fake; 3]) -> (usize, crate::fake::Session) {
    let [one, two, three] = servers;
    tokio::select! {
        session = one.session() => (0, session),
        session = two.session() => (1, session),
        session = three.session() => (2, session),
    }
}
