//! Who is there and who leads, over the lives and deaths of servers.

use std::time::{Duration, Instant};

use plimsoll_store::{
    Elections, Error, EtcdError, EtcdOptions, EtcdStore, Leader, Observed, Store,
};

use super::cluster::Members;
use super::link::Link;
use super::{Prefix, cluster, grant, orders, raw};

const TTL: Duration = Duration::from_secs(2);

async fn joined(store: &EtcdStore, server: &str) -> Elections {
    Elections::join(store, server, &format!("http://{server}:7943"), TTL).await.unwrap()
}

/// A store with the namespace, and two servers that have joined.
async fn two_servers() -> (EtcdStore, Elections, Elections) {
    let store = Prefix::fresh().store().await;
    store.create(orders(), Vec::new()).await.unwrap();
    let (a, b) = (joined(&store, "a").await, joined(&store, "b").await);
    (store, a, b)
}

async fn until(elections: &Elections, wanted: impl Fn(&Observed) -> bool) -> Observed {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let seen = elections.observe().await.unwrap();
        if wanted(&seen) {
            return seen;
        }
        assert!(Instant::now() < deadline, "{seen:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn servers_see_each_other_and_who_leads() {
    let (_store, a, b) = two_servers().await;
    let lead = a.lead("orders", None).await.unwrap().unwrap();
    let seen = b.observe().await.unwrap();
    let server = |id: &str| (id.to_owned(), format!("http://{id}:7943"));
    assert_eq!(seen.servers, [server("a"), server("b")]);
    assert_eq!(seen.leaders, [lead]);
}

#[tokio::test]
async fn one_of_many_that_run_at_once_leads() {
    let store = Prefix::fresh().store().await;
    store.create(orders(), Vec::new()).await.unwrap();
    let names: Vec<String> = (0..16).map(|n| format!("server-{n}")).collect();
    let servers = futures::future::join_all(names.iter().map(|name| joined(&store, name))).await;
    let runs = servers.iter().map(|server| server.lead("orders", None));
    let won: Vec<Leader> =
        futures::future::join_all(runs).await.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(servers[0].observe().await.unwrap().leaders, won);
}

#[tokio::test]
async fn whoever_leads_fences_out_who_led_before() {
    let (store, a, b) = two_servers().await;
    let old = a.lead("orders", None).await.unwrap().unwrap();
    store.commit("orders", old.epoch, vec![grant("1", 1)]).await.unwrap();
    let new = b.lead("orders", Some(&old)).await.unwrap().unwrap();
    assert!(new.epoch > old.epoch);
    let refused = store.commit("orders", old.epoch, vec![grant("2", 2)]).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    store.commit("orders", new.epoch, vec![grant("3", 3)]).await.unwrap();
}

#[tokio::test]
async fn nobody_replaces_a_leadership_that_has_changed_meanwhile() {
    let (_store, a, b) = two_servers().await;
    let first = a.lead("orders", None).await.unwrap().unwrap();
    let second = a.lead("orders", Some(&first)).await.unwrap().unwrap();
    assert_eq!(b.lead("orders", None).await.unwrap(), None);
    assert_eq!(b.lead("orders", Some(&first)).await.unwrap(), None);
    assert_eq!(b.observe().await.unwrap().leaders, [second]);
}

#[tokio::test]
async fn a_server_that_is_not_heard_of_is_gone_with_all_it_led() {
    let (_store, a, b) = two_servers().await;
    a.lead("orders", None).await.unwrap().unwrap();
    let seen = until(&b, |seen| {
        let alive = seen.servers.iter().any(|(id, _)| id == "a");
        assert_eq!(alive, !seen.leaders.is_empty(), "they go together");
        !alive
    });
    let (seen, kept) = tokio::join!(seen, keep_alive_for(&b, Duration::from_secs(4)));
    assert!(kept);
    assert_eq!(seen.leaders, []);
    assert!(!a.keep_alive().await.unwrap(), "its lease has run out");
}

async fn keep_alive_for(server: &Elections, time: Duration) -> bool {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if !server.keep_alive().await.unwrap() {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    true
}

#[tokio::test]
async fn resigning_gives_up_one_leadership_and_only_if_it_is_still_in_force() {
    let (_store, a, b) = two_servers().await;
    let first = a.lead("orders", None).await.unwrap().unwrap();
    let second = b.lead("orders", Some(&first)).await.unwrap().unwrap();
    a.resign(&first).await.unwrap();
    assert_eq!(a.observe().await.unwrap().leaders, std::slice::from_ref(&second));
    b.resign(&second).await.unwrap();
    assert_eq!(a.observe().await.unwrap().leaders, []);
}

#[tokio::test]
async fn a_server_that_leaves_is_gone_at_once() {
    let (_store, a, b) = two_servers().await;
    a.lead("orders", None).await.unwrap().unwrap();
    a.leave().await.unwrap();
    let seen = b.observe().await.unwrap();
    assert_eq!((seen.servers.len(), seen.leaders.len()), (1, 0));
}

#[tokio::test]
async fn nobody_leads_what_is_not_there() {
    let (store, a, _b) = two_servers().await;
    assert_eq!(a.lead("nothing", None).await.unwrap(), None);
    store.delete("orders").await.unwrap();
    assert_eq!(a.lead("orders", None).await.unwrap(), None);
}

// === crashes, pauses and lost answers ===

/// Wherever a server is killed, what it left goes with its lease, and the next one
/// leads.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_at_any_step_leaves_nothing_that_stays() {
    let prefix = Prefix::fresh();
    let store = prefix.store().await;
    store.create(orders(), Vec::new()).await.unwrap();
    for victim in 0..24 {
        dies_after(&prefix, victim, Duration::from_micros(500 * victim)).await;
    }
    for folder in ["servers/", "leaders/"] {
        let leases = raw::leases(cluster::shared(), &format!("{}{folder}", prefix.0)).await;
        assert!(leases.values().all(|lease| *lease != 0), "a key without a lease: {leases:?}");
    }
    let survivor = joined(&store, "survivor").await;
    let gone = until(&survivor, |seen| seen.servers.len() == 1 && seen.leaders.is_empty());
    let (_, kept) = tokio::join!(gone, keep_alive_for(&survivor, Duration::from_secs(6)));
    assert!(kept);
    let leader = survivor.lead("orders", None).await.unwrap().unwrap();
    store.commit("orders", leader.epoch, vec![grant("1", 1)]).await.unwrap();
}

/// Joins, leads and commits until its runtime goes away.
async fn dies_after(prefix: &Prefix, victim: u64, life: Duration) {
    let prefix = Prefix(prefix.0.clone());
    let lives = move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let store = prefix.store().await;
            let _ = tokio::time::timeout(life, leads(&store, &format!("victim-{victim}"))).await;
        });
        runtime.shutdown_background();
    };
    tokio::task::spawn_blocking(lives).await.unwrap();
}

async fn leads(store: &EtcdStore, server: &str) {
    let server = joined(store, server).await;
    let seen = server.observe().await.unwrap();
    while let Some(leader) = server.lead("orders", seen.leaders.first()).await.unwrap() {
        let _ = store.commit("orders", leader.epoch, vec![grant("1", 1)]).await;
        server.resign(&leader).await.unwrap();
    }
}

/// A process that stood still and does not know it: nothing that it does counts.
#[tokio::test]
async fn a_server_whose_clock_stood_still_is_refused_by_name() {
    let (store, a, b) = two_servers().await;
    let old = a.lead("orders", None).await.unwrap().unwrap();
    let gone = until(&b, |seen| seen.leaders.is_empty());
    let (_, kept) = tokio::join!(gone, keep_alive_for(&b, Duration::from_secs(5)));
    assert!(kept);
    assert!(matches!(a.lead("orders", None).await, Err(EtcdError::LeaseGone { .. })));
    store.commit("orders", old.epoch, vec![grant("1", 1)]).await.unwrap();
    let new = b.lead("orders", None).await.unwrap().unwrap();
    let refused = store.commit("orders", old.epoch, vec![grant("1", 2)]).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    a.resign(&old).await.unwrap();
    a.leave().await.unwrap();
    assert_eq!(b.observe().await.unwrap().leaders, [new]);
}

/// A leadership whose answer was lost is not given up unknowingly: with it, its server
/// would be the leader of a namespace without acting for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_leadership_whose_answer_is_lost_is_known_all_the_same() {
    let prefix = Prefix::fresh();
    let direct = prefix.store().await;
    direct.create(orders(), Vec::new()).await.unwrap();
    let observer = joined(&direct, "observer").await;
    let link = Link::to(cluster::shared()).await;
    let options = EtcdOptions { prefix: Some(prefix.0), ..EtcdOptions::new([&link.endpoint]) };
    let store = EtcdStore::connect(&options).await.unwrap();
    let a = Elections::join(&store, "a", "about", Duration::from_secs(60)).await.unwrap();
    let mut replacing = None;
    for _ in 0..3 {
        // Only the transaction names the key.
        let lost = async {
            link.deaf_after("leaders/orders").await;
            until(&observer, |seen| seen.leaders.first() != replacing.as_ref()).await;
            link.cut().await;
            link.open();
        };
        let (led, ()) = tokio::join!(a.lead("orders", replacing.as_ref()), lost);
        let led = led.unwrap().expect("nobody else runs");
        let seen = observer.observe().await.unwrap().leaders;
        assert_eq!(seen, std::slice::from_ref(&led));
        replacing = Some(led);
    }
}

/// Neither is a change whose answer is lost made twice, nor is it told as failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_answer_is_lost_is_made_once() {
    let prefix = Prefix::fresh();
    let direct = prefix.store().await;
    direct.create(orders(), Vec::new()).await.unwrap();
    let link = Link::to(cluster::shared()).await;
    let options = EtcdOptions { prefix: Some(prefix.0), ..EtcdOptions::new([&link.endpoint]) };
    let store = EtcdStore::connect(&options).await.unwrap();
    let epoch = store.lead("orders").await.unwrap();
    let lost = async {
        link.deaf_after("grants/orders/1").await;
        while direct.load("orders").await.unwrap().grants.is_empty() {}
        link.cut().await;
        link.open();
    };
    let (committed, ()) = tokio::join!(store.commit("orders", epoch, vec![grant("1", 1)]), lost);
    committed.unwrap();
    store.commit("orders", epoch, vec![grant("1", 2)]).await.unwrap();
    assert_eq!(direct.load("orders").await.unwrap().grants[0].1.generation, 2);
}

/// All members stand still for longer than the lease: whoever asks for it all the while
/// has it still, with everything on it, or is told that it is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_is_told_of_its_lease_is_true_after_etcd_stood_still() {
    let members = Members::start();
    let store = EtcdStore::connect(&EtcdOptions::new(members.endpoints())).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let (a, b) = (joined(&store, "a").await, joined(&store, "b").await);
    a.lead("orders", None).await.unwrap().unwrap();
    (0..3).for_each(|member| members.stop(member));
    tokio::time::sleep(Duration::from_secs(4)).await;
    (0..3).for_each(|member| members.signal(member, "CONT"));
    (0..3).for_each(|member| members.wait_until_healthy(member));
    let kept = keep_alive_for(&a, Duration::from_secs(3)).await;
    let seen = b.observe().await.unwrap();
    assert_eq!(seen.servers.iter().any(|(id, _)| id == "a"), kept);
    assert_eq!(seen.leaders.len(), usize::from(kept));
}

/// Leases outlive the death of any member, and elections go on.
#[tokio::test(flavor = "multi_thread")]
async fn leaderships_survive_the_death_of_each_member() {
    let mut members = Members::start();
    let store = EtcdStore::connect(&EtcdOptions::new(members.endpoints())).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let (a, b) = (patient(&store, "a").await, patient(&store, "b").await);
    let mut leader = a.lead("orders", None).await.unwrap().unwrap();
    for (victim, (next, idle)) in [(0, (&b, &a)), (1, (&a, &b)), (2, (&b, &a))] {
        members.kill(victim);
        assert!(
            keep_alive_for(idle, Duration::from_secs(3)).await && next.keep_alive().await.unwrap()
        );
        assert_eq!(next.observe().await.unwrap().leaders, std::slice::from_ref(&leader));
        let begun = Instant::now();
        leader = next.lead("orders", Some(&leader)).await.unwrap().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        store.commit("orders", leader.epoch, vec![grant("1", 1)]).await.unwrap();
        members.restart(victim);
    }
}

/// With a lease that outlives an election among members.
async fn patient(store: &EtcdStore, server: &str) -> Elections {
    Elections::join(store, server, "about", Duration::from_secs(10)).await.unwrap()
}
