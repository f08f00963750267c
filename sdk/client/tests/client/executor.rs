use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_client::{Closed, ConnectError, Executor, ExecutorBuilder, LeaveError, Ownership};
use plimsoll_wire::v1::farewell::Reason;
use plimsoll_wire::v1::session_request::Message as Said;
use plimsoll_wire::v1::{Done, Hello, Holding, Leaving};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::fake::{Fake, LONG, Session, Terms, goodbye, soon, started, stopped};
use crate::recorder::{Application, Event, Outcome, Recorder, application, application_with_load};

type Builder = ExecutorBuilder<Application>;

/// A lease short enough to wait for.
pub(crate) const SHORT: Terms = Terms { lease_ms: 300, beat_ms: 100 };

#[tokio::test]
async fn an_executor_says_who_it_is_and_starts_what_it_is_granted() {
    let mut fake = Fake::start().await;
    let (application, mut recorder) = application();
    let builder = Executor::builder("counters", application)
        .connect(fake.url())
        .address("http://10.0.0.7:80")
        .metadata("zone", "b")
        .host("h7")
        .id("x7");
    let serve = async {
        let mut session = fake.session().await;
        let hello = session.hello().await;
        session.welcome(LONG, &[("1", 7)]);
        (session, hello)
    };
    let (executor, (mut session, hello)) = tokio::join!(builder.start(), serve);
    let executor = executor.unwrap();
    let metadata = [("grpc_address", "http://10.0.0.7:80"), ("zone", "b")];
    let expected = Hello {
        namespace: "counters".into(),
        executor_id: "x7".into(),
        host: "h7".into(),
        metadata: metadata.map(|(key, value)| (key.into(), value.into())).into(),
        running: vec![],
        attempt: hello.attempt,
        prepares: true,
    };
    assert!(hello.attempt > 0);
    assert_eq!(hello, expected);
    assert_eq!(recorder.event().await, start("1", 7));
    assert_eq!(session.word().await, started("1", 7));
    assert_eq!(executor.owns("1"), Some(Ownership { generation: 7 }));
    assert_eq!(executor.owns("2"), None);
    let shards = executor.shards();
    assert_eq!(shards.iter().map(|shard| shard.key()).collect::<Vec<_>>(), ["1"]);
}

#[tokio::test]
async fn everything_stops_when_the_server_falls_silent() {
    let begin = Instant::now();
    let mut set = Set::up(SHORT, &[("1", 7)]).await;
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.executor.owns("1"), None);
    let lease = Duration::from_millis(SHORT.lease_ms);
    assert!(begin.elapsed() >= lease * 4 / 5, "{:?} is too early", begin.elapsed());
}

#[tokio::test]
async fn beats_that_are_acknowledged_keep_the_lease() {
    let mut set = Set::up(Terms { lease_ms: 1_000, beat_ms: 50 }, &[("1", 7)]).await;
    for _ in 0..30 {
        set.session.beat().await;
    }
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert!(set.recorder.is_quiet());
    assert_eq!(set.executor.owns("1"), Some(Ownership { generation: 7 }));
}

#[tokio::test]
async fn a_slow_start_or_stop_delays_no_beat() {
    let mut set = Set::up(LONG, &[]).await;
    set.recorder.gates.start.close();
    set.session.grant("1", 7);
    assert_eq!(set.recorder.event().await, start("1", 7));
    for _ in 0..10 {
        set.session.beat().await;
    }
    assert_eq!(set.executor.owns("1"), None, "it has not started");
    set.recorder.gates.start.open();
    assert_eq!(set.session.word().await, started("1", 7));

    set.recorder.gates.stop.close();
    set.session.revoke("1", 7);
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.executor.owns("1"), None, "it stops");
    for _ in 0..10 {
        set.session.beat().await;
    }
    set.recorder.gates.stop.open();
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
}

#[tokio::test]
async fn a_shard_that_comes_back_waits_for_its_own_stop() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    set.recorder.gates.stop.close();
    set.session.revoke("1", 7);
    set.session.grant("1", 8);
    set.session.revoke("none", 1);
    set.recorder.event().await;
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.session.word().await, stopped("none", 1, ""), "all were heard");
    assert!(set.recorder.is_quiet(), "not started while it stops");
    set.recorder.gates.stop.open();
    assert_eq!(set.recorder.event().await, start("1", 8));
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
    assert_eq!(set.session.word().await, started("1", 8));
}

#[tokio::test]
async fn a_revocation_that_overtakes_a_start_stops_it_afterwards() {
    let mut set = Set::up(LONG, &[]).await;
    set.recorder.gates.start.close();
    set.session.grant("1", 7);
    set.session.revoke("1", 7);
    set.session.revoke("none", 1);
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.session.word().await, stopped("none", 1, ""), "all were heard");
    assert!(set.recorder.is_quiet(), "not stopped while it starts");
    set.recorder.gates.start.open();
    assert_eq!(set.recorder.event().await, stop("1", 7));
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
}

#[tokio::test]
async fn a_revocation_that_overtakes_a_failing_start_is_confirmed() {
    let mut set = Set::up(LONG, &[]).await;
    set.recorder.gates.start.close();
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Fails;
    set.session.grant("1", 7);
    set.recorder.event().await;
    set.session.revoke("1", 7);
    set.session.revoke("none", 1);
    assert_eq!(set.session.word().await, stopped("none", 1, ""), "both were heard");
    set.recorder.gates.start.open();
    assert_eq!(set.session.word().await, stopped("1", 7, ""));
    assert!(set.recorder.is_quiet(), "what never ran is not stopped");
}

#[tokio::test]
async fn a_start_that_fails_or_panics_gives_the_shard_back() {
    let mut set = Set::up(LONG, &[]).await;
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Fails;
    set.session.grant("1", 7);
    assert_eq!(set.session.word().await, stopped("1", 7, "disk full"));
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Panics;
    set.session.grant("1", 8);
    assert_eq!(set.session.word().await, stopped("1", 8, "start panicked"));
    *set.recorder.gates.outcome.lock().unwrap() = Outcome::Runs;
    set.session.grant("1", 9);
    assert_eq!(set.session.word().await, started("1", 9));
}

#[tokio::test]
async fn a_stuck_load_delays_loads_and_nothing_else() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let load = move |_: &str| {
        let _ = released.lock().unwrap().recv();
        Some(2.5)
    };
    let mut set = Set::up_with(LONG, &[("1", 7)], application_with_load(load)).await;
    assert_eq!(set.session.word().await, started("1", 7));
    for _ in 0..10 {
        assert_eq!(set.session.beat().await.loads, []);
    }
    assert!(set.executor.stats().loads_late > 0);
    drop(release);
    assert_eq!(set.session.loads().await, [("1".to_owned(), 2.5)]);
}

#[tokio::test]
async fn only_changed_loads_are_told_and_all_of_them_after_a_reconnect() {
    let loads = Arc::new(Mutex::new(BTreeMap::from([("1", 1.0), ("2", 2.0)])));
    let told = Arc::clone(&loads);
    let load = move |shard: &str| told.lock().unwrap().get(shard).copied();
    let set = Set::up_with(LONG, &[("1", 7), ("2", 8)], application_with_load(load)).await;
    let Set { mut fake, mut session, executor: _executor, .. } = set;
    let mut all = session.loads().await;
    while all.len() < 2 {
        all.extend(session.loads().await);
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(all, [("1".to_owned(), 1.0), ("2".to_owned(), 2.0)]);
    loads.lock().unwrap().insert("2", 3.0);
    assert_eq!(session.loads().await, [("2".to_owned(), 3.0)]);

    drop(session);
    let mut session = fake.welcomed(LONG, &[("1", 7), ("2", 8)]).await;
    assert_eq!(session.loads().await, [("1".to_owned(), 1.0), ("2".to_owned(), 3.0)]);
}

#[tokio::test]
async fn what_is_no_load_is_not_told() {
    let load = |shard: &str| Some(if shard == "1" { f64::NAN } else { 4.0 });
    let mut set = Set::up_with(LONG, &[("1", 7), ("2", 8)], application_with_load(load)).await;
    assert_eq!(set.session.loads().await, [("2".to_owned(), 4.0)]);
    while set.executor.stats().loads_refused == 0 {
        assert_eq!(set.session.beat().await.loads, []);
    }
}

#[tokio::test]
async fn changed_metadata_goes_out_with_a_beat() {
    let mut set = Set::up(LONG, &[]).await;
    set.executor.set_metadata("zone", "c");
    loop {
        if let Some(metadata) = set.session.beat().await.metadata {
            assert_eq!(metadata.entries["zone"], "c");
            break;
        }
    }
    assert_eq!(set.session.beat().await.metadata, None);
}

#[tokio::test]
async fn a_hello_after_a_reconnect_names_what_runs() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    drop(set.session);
    let mut session = set.fake.session().await;
    let hello = session.hello().await;
    let running = Holding { shard_key: "1".into(), generation: 7, stopping: false };
    assert_eq!(hello.running, [running]);
    assert!(hello.attempt > set.hello.attempt);
    session.welcome(LONG, &[("1", 7)]);
    assert_eq!(session.word().await, started("1", 7));
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert!(set.recorder.is_quiet(), "it ran on");
}

#[tokio::test]
async fn a_silent_server_is_left_for_another_one() {
    let mut one = Fake::start().await;
    let mut other = Fake::start().await;
    let (application, _recorder) = application();
    let servers = format!("{},{}", one.url(), other.url());
    let builder = Executor::builder("counters", application).connect(servers);
    let serve = async {
        let mut session = tokio::select! {
            session = one.session() => session,
            session = other.session() => session,
        };
        session.hello().await;
        session.welcome(SHORT, &[]);
        session
    };
    let (executor, _silent) = tokio::join!(builder.start(), serve);
    let _executor = executor.unwrap();
    tokio::select! {
        _ = one.session() => {}
        _ = other.session() => {}
    }
}

#[tokio::test]
async fn a_dead_address_among_several_does_not_matter() {
    let mut fake = Fake::start().await;
    let (application, _recorder) = application();
    let servers = format!("http://127.0.0.1:1,{},http://127.0.0.1:1", fake.url());
    let builder = Executor::builder("counters", application).connect(servers);
    let (executor, _session) = tokio::join!(builder.start(), fake.welcomed(LONG, &[]));
    assert!(executor.is_ok());
}

#[tokio::test]
async fn a_refusal_is_an_error_of_the_start() {
    let mut fake = Fake::start().await;
    let (application, _recorder) = application();
    let builder = Executor::builder("typo", application).connect(fake.url());
    let serve = async {
        let mut session = fake.session().await;
        session.hello().await;
        session.fail(Status::not_found("no namespace typo"));
    };
    let (refused, ()) = tokio::join!(builder.start(), serve);
    let Err(ConnectError::Refused { code: Code::NotFound, namespace, .. }) = refused else {
        panic!("{refused:?} is no refusal");
    };
    assert_eq!(namespace, "typo");
}

#[tokio::test]
async fn a_replaced_executor_stops_everything_and_is_closed() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    set.session.farewell(Reason::Replaced);
    assert_eq!(soon(set.executor.closed()).await, Closed::Replaced);
    assert_eq!(set.recorder.event().await, start("1", 7));
    assert_eq!(set.recorder.event().await, stop("1", 7));
}

#[tokio::test]
async fn work_that_is_done_is_told_and_stops_when_revoked() {
    let mut set = Set::up(LONG, &[("a", 7)]).await;
    assert_eq!(set.session.word().await, started("a", 7));
    set.executor.done("a");
    let done = Done { shard_key: "a".into(), generation: 7 };
    assert_eq!(set.session.word().await, Said::Done(done));
    set.session.revoke("a", 7);
    assert_eq!(set.session.word().await, stopped("a", 7, ""));
}

#[tokio::test]
async fn leaving_waits_until_everything_was_taken() {
    let mut set = Set::up(LONG, &[("1", 7)]).await;
    assert_eq!(set.session.word().await, started("1", 7));
    let take = async {
        assert_eq!(set.session.word().await, Said::Leaving(Leaving {}));
        set.session.revoke("1", 7);
        assert_eq!(set.session.word().await, stopped("1", 7, ""));
    };
    let (left, ()) = tokio::join!(soon(set.executor.leave()), take);
    assert_eq!(left, Ok(()));
}

#[tokio::test]
async fn leaving_tells_what_nobody_took() {
    let mut fake = Fake::start().await;
    let (application, _recorder) = application();
    let builder = Executor::builder("counters", application)
        .connect(fake.url())
        .leave_within(Duration::from_millis(50));
    let (executor, mut session) = tokio::join!(builder.start(), fake.welcomed(LONG, &[("1", 7)]));
    let executor = executor.unwrap();
    assert_eq!(session.word().await, started("1", 7));
    assert_eq!(executor.leave().await, Err(LeaveError::ShardsRemain { shards: 1 }));
    assert_eq!(executor.owns("1"), Some(Ownership { generation: 7 }), "it goes on");
}

#[tokio::test]
async fn a_goodbye_that_was_cut_off_is_said_again() {
    let mut set = Set::up(LONG, &[]).await;
    let hear = async {
        assert_eq!(set.session.word().await, Said::Leaving(Leaving {}));
        assert_eq!(set.session.word().await, goodbye());
        drop(set.session);
        let mut session = set.fake.session().await;
        assert_eq!(session.hello().await.running, []);
        assert_eq!(session.word().await, Said::Leaving(Leaving {}));
        assert_eq!(session.word().await, goodbye());
        session.farewell(Reason::Goodbye);
        session
    };
    let (gone, _session) = tokio::join!(soon(set.executor.shutdown()), hear);
    assert_eq!(gone, Ok(()));
}

#[tokio::test]
async fn a_stop_that_hangs_does_not_hang_the_shutdown() {
    let mut fake = Fake::start().await;
    let (application, recorder) = application();
    recorder.gates.stop.close();
    let builder = Executor::builder("counters", application)
        .connect(fake.url())
        .leave_within(Duration::ZERO)
        .goodbye_within(Duration::from_millis(50));
    let (executor, mut session) = tokio::join!(builder.start(), fake.welcomed(LONG, &[("1", 7)]));
    assert_eq!(session.word().await, started("1", 7));
    let gone = soon(executor.unwrap().shutdown()).await;
    assert_eq!(gone, Err(LeaveError::GoodbyeUnheard { shards: 1 }));
}

#[tokio::test]
async fn dropping_an_executor_ends_the_session_without_a_goodbye() {
    let mut set = Set::up(LONG, &[]).await;
    drop(set.executor);
    loop {
        match soon(set.session.said()).await {
            Some(Said::Goodbye(_)) => panic!("a goodbye"),
            Some(_) => {}
            None => break,
        }
    }
}

#[tokio::test]
async fn what_an_executor_waits_for_can_be_waited_for_in_a_task() {
    fn in_a_task(_: impl Future + Send) {}
    let (application, _recorder) = application();
    let builder = Executor::builder("counters", application).connect("http://127.0.0.1:1");
    in_a_task(builder.start());
    let set = Set::up(LONG, &[]).await;
    in_a_task(set.executor.ready());
    in_a_task(set.executor.closed());
    in_a_task(set.executor.leave());
    in_a_task(set.executor.shutdown());
}

/// An executor that was welcomed.
pub(crate) struct Set {
    pub(crate) fake: Fake,
    hello: Hello,
    pub(crate) session: Session,
    pub(crate) executor: Executor,
    pub(crate) recorder: Recorder,
}

impl Set {
    pub(crate) async fn up(terms: Terms, grants: &[(&str, u64)]) -> Self {
        Self::up_with(terms, grants, application()).await
    }

    async fn up_with(
        terms: Terms,
        grants: &[(&str, u64)],
        application: (Application, Recorder),
    ) -> Self {
        Self::up_as(terms, grants, application, |builder| builder).await
    }

    pub(crate) async fn up_as(
        terms: Terms,
        grants: &[(&str, u64)],
        (application, recorder): (Application, Recorder),
        configure: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let mut fake = Fake::start().await;
        let builder = configure(Executor::builder("counters", application).connect(fake.url()));
        let serve = async {
            let mut session = fake.session().await;
            let hello = session.hello().await;
            session.welcome(terms, grants);
            (session, hello)
        };
        let (executor, (session, hello)) = tokio::join!(builder.start(), serve);
        Self { fake, hello, session, executor: executor.unwrap(), recorder }
    }
}

impl Session {
    /// The next loads that are told.
    async fn loads(&mut self) -> Vec<(String, f64)> {
        loop {
            let loads = self.beat().await.loads;
            if !loads.is_empty() {
                return loads.into_iter().map(|told| (told.shard_key, told.load)).collect();
            }
        }
    }
}

pub(crate) fn start(shard: &str, generation: u64) -> Event {
    Event::Start(shard.to_owned(), generation)
}

pub(crate) fn stop(shard: &str, generation: u64) -> Event {
    Event::Stop(shard.to_owned(), generation)
}
