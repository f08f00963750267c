//! Who is there and who leads, over the lives and deaths of servers.

use std::time::{Duration, Instant};

use plimsoll_store::{Elections, Error, EtcdStore, Leader, Observed, Store};

use super::{Prefix, grant, orders};

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
