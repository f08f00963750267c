//! `AdminService`.

use std::collections::HashMap;
use std::time::Duration;

use plimsoll_testkit::session::{Session, beat, hello};
use plimsoll_testkit::{Cluster, Fixture, SOON, eventually};
use plimsoll_wire::v1;
use tonic::Code;

#[tokio::test]
async fn a_namespace_is_made_described_and_deleted_at_run_time() {
    let mut cluster = Cluster::start([]).await.unwrap();
    let request = v1::CreateNamespaceRequest {
        settings: [("lease".to_owned(), "3s".to_owned())].into(),
        frozen: true,
        ..fixed("orders", 8)
    };
    cluster.admin().create_namespace(request).await.unwrap();
    // It is stored: a restart knows it.
    cluster.stop().await;
    cluster.resume().await;
    let described = cluster.describe("orders").await.unwrap();
    assert_eq!((described.r#type.as_str(), described.shard_num), ("fixed", 8));
    assert!(described.frozen);
    assert_eq!(described.settings["lease"], "3s");
    assert_eq!(described.shards_without_owner, 8);

    cluster.admin().delete_namespace(named("orders")).await.unwrap();
    assert_eq!(code(cluster.describe("orders").await), Some(Code::NotFound));
    let again = cluster.admin().delete_namespace(named("orders")).await;
    assert_eq!(again.unwrap_err().code(), Code::NotFound);
    // The name is free again, and the new one knows nothing of the old one.
    cluster.admin().create_namespace(fixed("orders", 2)).await.unwrap();
    assert_eq!(cluster.describe("orders").await.unwrap().shard_num, 2);
}

#[tokio::test]
async fn a_name_is_not_free_while_executors_of_the_deleted_namespace_may_run_its_shards() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let mut session = Session::open(cluster.executors(), hello("orders", "a")).await.unwrap();
    session.welcome().await.unwrap();
    cluster.admin().delete_namespace(named("orders")).await.unwrap();
    let soon = cluster.admin().create_namespace(fixed("orders", 1)).await.unwrap_err();
    assert_eq!(soon.code(), Code::FailedPrecondition);
    assert!(soon.message().contains("try again in"), "{soon}");
}

#[tokio::test]
async fn a_caller_that_hangs_up_leaves_no_namespace_half_made_or_half_deleted() {
    let cluster = Cluster::start([]).await.unwrap();
    for round in 0..20 {
        let (name, patience) = (format!("n{round}"), Duration::from_micros(100 * round));
        let (mut first, mut second) = (cluster.admin(), cluster.admin());
        drop(tokio::time::timeout(patience, first.create_namespace(fixed(&name, 4))).await);
        usable(&cluster, &name).await;
        drop(tokio::time::timeout(patience, second.delete_namespace(named(&name))).await);
        usable(&cluster, &name).await;
    }
}

/// The namespace is there and answers, or can be made.
async fn usable(cluster: &Cluster, name: &str) {
    eventually(SOON, "the namespace is there or can be made", || async {
        if cluster.describe(name).await.is_ok() {
            return Some(());
        }
        cluster.admin().create_namespace(fixed(name, 4)).await.ok().map(drop)
    })
    .await
}

#[tokio::test]
async fn settings_that_are_changed_at_once_are_all_changed() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let change = |name: &str, value: &str| {
        let settings = [(name.to_owned(), value.to_owned())].into();
        let request = v1::UpdateSettingsRequest { namespace: "orders".to_owned(), settings };
        let mut admin = cluster.admin();
        async move { admin.update_settings(request).await.unwrap() }
    };
    tokio::join!(
        change("period", "3s"),
        change("crash_loop.deaths", "7"),
        change("mass_failure.proportion", "0.75"),
    );
    let settings = cluster.describe("orders").await.unwrap().settings;
    let names = ["period", "crash_loop.deaths", "mass_failure.proportion"];
    assert_eq!(names.map(|name| settings[name].as_str()), ["3s", "7", "0.75"]);
}

#[tokio::test]
async fn namespaces_that_cannot_be_are_refused() {
    let cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let with = |name: &str, value: &str| v1::CreateNamespaceRequest {
        settings: [(name.to_owned(), value.to_owned())].into(),
        ..fixed("x", 1)
    };
    let ephemeral = |shard_num| v1::CreateNamespaceRequest {
        r#type: "ephemeral".to_owned(),
        ..fixed("x", shard_num)
    };
    let granted = |shard_key: &str, executor_id: &str| v1::CreateNamespaceRequest {
        initial_grants: vec![v1::InitialGrant {
            shard_key: shard_key.to_owned(),
            executor_id: executor_id.to_owned(),
        }],
        ..fixed("x", 1)
    };
    for (request, code) in [
        (fixed("orders", 1), Code::AlreadyExists),
        (fixed("", 1), Code::InvalidArgument),
        (fixed("a b", 1), Code::InvalidArgument),
        (fixed("a/b", 1), Code::InvalidArgument),
        (fixed(&"x".repeat(129), 1), Code::InvalidArgument),
        (fixed("x", 0), Code::InvalidArgument),
        (fixed("x", u64::MAX), Code::InvalidArgument),
        (ephemeral(3), Code::InvalidArgument),
        (
            v1::CreateNamespaceRequest { r#type: "other".into(), ..fixed("x", 1) },
            Code::InvalidArgument,
        ),
        (with("leese", "1s"), Code::InvalidArgument),
        (with("lease", "soon"), Code::InvalidArgument),
        (granted("1", "a"), Code::InvalidArgument),
        (granted("0", ""), Code::InvalidArgument),
    ] {
        let status = cluster.admin().create_namespace(request.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{request:?}: {status}");
    }
}

#[tokio::test]
async fn every_order_for_an_unknown_namespace_is_not_found() {
    let cluster = Cluster::start([]).await.unwrap();
    let (mut admin, namespace) = (cluster.admin(), || "nowhere".to_owned());
    let keys = || vec!["0".to_owned()];
    let settings = HashMap::new();
    let drain = v1::DrainShardsRequest {
        namespace: namespace(),
        shard_keys: keys(),
        ..v1::DrainShardsRequest::default()
    };
    let undrain = v1::UndrainShardsRequest { namespace: namespace(), shard_keys: keys() };
    let explain = v1::ExplainShardRequest { namespace: namespace(), shard_key: "0".into() };
    let history = v1::HistoryRequest { namespace: namespace(), ..v1::HistoryRequest::default() };
    let loads = v1::GetLoadsRequest { namespace: namespace(), ..v1::GetLoadsRequest::default() };
    let plan = v1::PlanBalanceRequest { namespace: namespace(), mode: String::new() };
    let update = v1::UpdateSettingsRequest { namespace: namespace(), settings };
    let freeze = v1::FreezeBalanceRequest { namespace: namespace() };
    let resume = v1::ResumeBalanceRequest { namespace: namespace() };
    let drains = v1::ListDrainsRequest { namespace: namespace() };
    let name = namespace();
    let describe = v1::DescribeNamespaceRequest { name };
    let codes = [
        code_of(admin.drain_shards(drain).await),
        code_of(admin.undrain_shards(undrain).await),
        code_of(admin.explain_shard(explain).await),
        code_of(admin.history(history).await),
        code_of(admin.get_loads(loads).await),
        code_of(admin.plan_balance(plan).await),
        code_of(admin.update_settings(update).await),
        code_of(admin.freeze_balance(freeze).await),
        code_of(admin.resume_balance(resume).await),
        code_of(admin.list_drains(drains).await),
        code_of(admin.describe_namespace(describe).await),
        code_of(admin.delete_namespace(named("nowhere")).await),
    ];
    assert_eq!(codes, [Some(Code::NotFound); 12]);
}

#[tokio::test]
async fn settings_change_all_or_nothing_and_last_over_a_restart() {
    let mut cluster = Cluster::start([Fixture::fixed("orders", 1)]).await.unwrap();
    let update = async |cluster: &Cluster, changes: &[(&str, &str)]| {
        let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = changes.iter().map(text).collect();
        let request = v1::UpdateSettingsRequest { namespace: "orders".to_owned(), settings };
        cluster.admin().update_settings(request).await
    };
    let changed = update(&cluster, &[("period", "2s"), ("load_balancing_mode", "naive")]).await;
    assert_eq!(changed.unwrap().into_inner().settings["period"], "2s");
    for bad in [
        [("period", "5s"), ("crash_loop.deaths", "0")],
        [("period", "5s"), ("no.such", "1")],
        [("period", "5s"), ("beat", "1h")],
    ] {
        let status = update(&cluster, &bad).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{bad:?}");
        assert!(status.message().contains(bad[1].0), "{status}");
    }
    cluster.stop().await;
    cluster.resume().await;
    let settings = cluster.describe("orders").await.unwrap().settings;
    assert_eq!((&*settings["period"], &*settings["load_balancing_mode"]), ("2s", "naive"));
}

#[tokio::test]
async fn a_plan_says_what_would_move_and_why_and_moves_nothing() {
    let (cluster, _sessions) = uneven().await;
    let before = cluster.describe("orders").await.unwrap().moves;
    for mode in ["", "adaptive", "greedy", "naive", "ring"] {
        let request = v1::PlanBalanceRequest { namespace: "orders".into(), mode: mode.into() };
        let plan = cluster.admin().plan_balance(request).await.unwrap().into_inner();
        assert_eq!(plan.mode, if mode.is_empty() { "adaptive" } else { mode });
        assert!(plan.before.is_some() && plan.after.is_some());
        assert!(plan.moves.iter().all(|step| !step.reason.is_empty() && step.from != step.to));
        assert!(!plan.moves.is_empty() || !plan.notes.is_empty(), "{mode}: {plan:?}");
    }
    assert_eq!(cluster.describe("orders").await.unwrap().moves, before);
    let request = v1::PlanBalanceRequest { namespace: "orders".into(), mode: "best".into() };
    let status = cluster.admin().plan_balance(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn drains_are_listed_with_who_why_and_when() {
    let cluster = Cluster::start([Fixture::fixed("orders", 4)]).await.unwrap();
    let request = v1::DrainShardsRequest {
        namespace: "orders".into(),
        shard_keys: vec!["2".into(), "1".into()],
        reason: "poison".into(),
        drained_by: "me".into(),
    };
    cluster.admin().drain_shards(request).await.unwrap();
    let namespace = || "orders".to_owned();
    let list = v1::ListDrainsRequest { namespace: namespace() };
    let drains = cluster.admin().list_drains(list).await.unwrap().into_inner();
    let names: Vec<_> = drains.shards.iter().map(|drain| drain.name.as_str()).collect();
    assert_eq!((names, drains.hosts.len()), (vec!["1", "2"], 0));
    let drain = &drains.shards[0];
    assert_eq!((drain.reason.as_str(), drain.drained_by.as_str()), ("poison", "me"));
    assert!(drain.drained_at.is_some_and(|at| at.seconds > 1_700_000_000));
    let undrain = v1::UndrainShardsRequest {
        namespace: namespace(),
        shard_keys: vec!["1".into(), "3".into()],
    };
    let undrained = cluster.admin().undrain_shards(undrain).await.unwrap().into_inner();
    assert_eq!(undrained.undrained_shard_keys, ["1"]);
}

#[tokio::test]
async fn a_shard_is_explained_in_every_phase() {
    let (cluster, mut sessions) = uneven().await;
    let explain = async |key: &str| {
        let request = v1::ExplainShardRequest { namespace: "orders".into(), shard_key: key.into() };
        cluster.admin().explain_shard(request).await.map(|it| it.into_inner())
    };
    let owned = explain("0").await.unwrap();
    assert_eq!((owned.phase.as_str(), owned.smoothed_load), ("owned", Some(8.0)));
    assert!(!owned.because.is_empty() && !owned.outlook.is_empty(), "{owned:?}");
    let request = v1::DrainShardsRequest {
        namespace: "orders".into(),
        shard_keys: vec!["0".into()],
        reason: "poison".into(),
        drained_by: String::new(),
    };
    cluster.admin().drain_shards(request).await.unwrap();
    let revoking = explain("0").await.unwrap();
    assert_eq!(revoking.phase, "revoking");
    assert!(revoking.outlook.contains("poison") && revoking.drain.is_some(), "{revoking:?}");
    let revocation = sessions[0].revocation().await.unwrap();
    sessions[0].say(plimsoll_testkit::session::stopped(&revocation));
    eventually(SOON, "the drained shard has no owner", || async {
        let it = explain("0").await.unwrap();
        (it.phase == "unowned" && it.owner.is_empty()).then_some(())
    })
    .await;
    assert_eq!(explain("9").await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn history_is_newest_first_and_can_be_of_one_shard() {
    let (cluster, mut sessions) = uneven().await;
    let drain = v1::DrainShardsRequest {
        namespace: "orders".into(),
        shard_keys: vec!["1".into()],
        ..v1::DrainShardsRequest::default()
    };
    cluster.admin().drain_shards(drain).await.unwrap();
    sessions[0].revocation().await.unwrap();
    let all = cluster.history("orders").await.unwrap();
    let kinds: Vec<_> = all.iter().map(|event| event.kind.as_str()).collect();
    assert!(kinds.contains(&"joined") && kinds.contains(&"revoked"), "{kinds:?}");
    let times: Vec<_> = all.iter().filter_map(|event| event.at).collect();
    assert!(
        times
            .windows(2)
            .all(|pair| { (pair[0].seconds, pair[0].nanos) >= (pair[1].seconds, pair[1].nanos) })
    );
    let request = v1::HistoryRequest {
        namespace: "orders".into(),
        shard_key: "1".into(),
        limit: 1,
        ..Default::default()
    };
    let one = cluster.admin().history(request).await.unwrap().into_inner().events;
    assert_eq!((one.len(), one[0].shard_key.as_str()), (1, "1"));
    assert!(one[0].generation > 0);
}

#[tokio::test]
async fn history_can_be_of_some_kinds_of_one_executor_and_up_to_a_time() {
    let (cluster, mut sessions) = uneven().await;
    let drain = v1::DrainShardsRequest {
        namespace: "orders".into(),
        shard_keys: vec!["1".into()],
        ..v1::DrainShardsRequest::default()
    };
    cluster.admin().drain_shards(drain).await.unwrap();
    sessions[0].revocation().await.unwrap();
    let ask = async |request: v1::HistoryRequest| {
        let request = v1::HistoryRequest { namespace: "orders".into(), ..request };
        cluster.admin().history(request).await.unwrap().into_inner().events
    };
    let kinds = vec!["joined".to_owned()];
    let joined = ask(v1::HistoryRequest { kinds, ..Default::default() }).await;
    assert!(joined.iter().all(|it| it.kind == "joined") && !joined.is_empty(), "{joined:?}");
    let executor_id = "b".to_owned();
    let of_b = ask(v1::HistoryRequest { executor_id, ..Default::default() }).await;
    assert!(!of_b.is_empty() && of_b.iter().all(|it| it.executor_id == "b"), "{of_b:?}");
    let all = ask(v1::HistoryRequest::default()).await;
    let oldest = all.last().unwrap().at;
    let up_to = ask(v1::HistoryRequest { until: oldest, ..Default::default() }).await;
    assert!(up_to.len() < all.len() && up_to.last() == all.last(), "{up_to:?}");
}

#[tokio::test]
async fn each_executor_tells_its_largest_shards_and_when_its_lease_ends() {
    let (cluster, _sessions) = uneven().await;
    let request = v1::GetLoadsRequest {
        namespace: "orders".into(),
        largest_per_executor: 2,
        ..Default::default()
    };
    let loads = cluster.admin().get_loads(request).await.unwrap().into_inner();
    let a = loads.executors.iter().find(|it| it.executor_id == "a").unwrap();
    let largest: Vec<_> = a.largest.iter().map(|it| (&*it.shard_key, it.smoothed_load)).collect();
    assert_eq!(largest, [("0", Some(8.0)), ("1", Some(4.0))]);
    assert_eq!((a.cooling_shards, a.cooling_load), (0, 0.0), "nothing moved");
    let seconds = |at: Option<prost_types::Timestamp>| at.unwrap().seconds;
    let left = seconds(a.lease_ends) - seconds(a.last_heartbeat);
    assert_eq!(left, 30, "the lease of the namespace");
    assert!(seconds(loads.at) >= seconds(a.last_heartbeat));
    assert!(loads.cooldown.unwrap().seconds > 0);
}

#[tokio::test]
async fn the_hottest_shards_come_first() {
    let (cluster, _sessions) = uneven().await;
    let request =
        v1::GetLoadsRequest { namespace: "orders".into(), hottest_shards: 2, ..Default::default() };
    let loads = cluster.admin().get_loads(request).await.unwrap().into_inner();
    let hottest: Vec<_> =
        loads.shards.iter().map(|it| (&*it.shard_key, it.smoothed_load)).collect();
    assert_eq!(hottest, [("0", Some(8.0)), ("1", Some(4.0))]);
    assert_eq!(loads.executors.len(), 2);
    assert_eq!(loads.executors.iter().map(|it| it.load).sum::<f64>(), 15.0);
    let balance = loads.balance.unwrap();
    assert_eq!((balance.hosts, balance.measured), (2, 1.0));
}

/// Four shards of loads 8, 4, 2 and 1, all on the first of two, balance frozen.
async fn uneven() -> (Cluster, Vec<Session>) {
    let cluster = Cluster::start([]).await.unwrap();
    let grant =
        |key: u32| v1::InitialGrant { shard_key: key.to_string(), executor_id: "a".to_owned() };
    let request = v1::CreateNamespaceRequest {
        frozen: true,
        initial_grants: (0..4).map(grant).collect(),
        settings: ["lease", "heartbeat_ttl"].map(|it| (it.to_owned(), "30s".to_owned())).into(),
        ..fixed("orders", 4)
    };
    cluster.admin().create_namespace(request).await.unwrap();
    let held =
        |key: u32| v1::Holding { shard_key: key.to_string(), generation: 1, stopping: false };
    let first = v1::Hello { running: (0..4).map(held).collect(), ..hello("orders", "a") };
    let mut first = Session::open(cluster.executors(), first).await.unwrap();
    assert_eq!(first.welcome().await.unwrap().grants.len(), 4);
    first.say(beat(1, &[("0", 8.0), ("1", 4.0), ("2", 2.0), ("3", 1.0)]));
    first.hear().await.unwrap();
    let second = hello("orders", "b");
    let mut second = Session::open(cluster.executors(), second).await.unwrap();
    second.welcome().await.unwrap();
    (cluster, vec![first, second])
}

fn fixed(name: &str, shard_num: u64) -> v1::CreateNamespaceRequest {
    v1::CreateNamespaceRequest {
        name: name.to_owned(),
        r#type: "fixed".to_owned(),
        shard_num,
        ..v1::CreateNamespaceRequest::default()
    }
}

fn named(name: &str) -> v1::DeleteNamespaceRequest {
    v1::DeleteNamespaceRequest { name: name.to_owned() }
}

fn code<T>(answer: anyhow::Result<T>) -> Option<Code> {
    answer.err()?.downcast_ref::<tonic::Status>().map(tonic::Status::code)
}

fn code_of<T>(answer: Result<T, tonic::Status>) -> Option<Code> {
    answer.err().map(|status| status.code())
}
