//! The watch of servers and leaders against what etcd says has happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use plimsoll_store::{Change, Elections, EtcdOptions, EtcdStore, Leader, Observed, Store};
use tokio::task::JoinHandle;

use super::cluster::{self, Members};
use super::link::Link;
use super::raw::{self, Step};
use super::{Prefix, orders};

const FOLDERS: [&str; 2] = ["servers/", "leaders/"];
/// No test takes as long.
const TTL: Duration = Duration::from_secs(300);
const IN_TIME: Duration = Duration::from_secs(60);

/// Who has watched, to the end.
type Watching = JoinHandle<Vec<Change>>;

async fn elections(endpoints: &[String], prefix: &Prefix, server: &str) -> Elections {
    let prefix = Some(prefix.0.clone());
    let options = EtcdOptions { prefix, ..EtcdOptions::new(endpoints) };
    let store = EtcdStore::connect(&options).await.unwrap();
    Elections::join(&store, server, "about", TTL).await.unwrap()
}

/// Watches until both marks of [`end`] have been seen.
async fn watching(endpoints: &[String], prefix: &Prefix) -> Watching {
    let mut changes = elections(endpoints, prefix, "watcher").await.watch();
    let first = changes.next().await.unwrap();
    tokio::spawn(async move {
        let mut seen = vec![first];
        while ends(&seen) < 2 {
            seen.push(changes.next().await.unwrap());
        }
        seen
    })
}

/// Both may be told by one reading of everything.
fn ends(seen: &[Change]) -> usize {
    let of = |change: &Change| match change {
        Change::Server { server, .. } => usize::from(server == "end"),
        Change::Leader { namespace, .. } => usize::from(namespace == "end"),
        Change::Everything { observed, .. } => {
            let state = state(observed);
            FOLDERS.iter().filter(|folder| state.contains_key(&format!("{folder}end"))).count()
        }
    };
    seen.iter().map(of).sum()
}

/// Marks the end of the history in both folders; returns its revision.
async fn end(etcd: &str, prefix: &Prefix) -> i64 {
    raw::put(etcd, &format!("{}servers/end", prefix.0), "").await;
    raw::put(etcd, &format!("{}leaders/end", prefix.0), "1 end").await
}

/// Changes leaders and servers, by hand.
async fn changes(etcd: &str, prefix: &Prefix, numbers: std::ops::Range<u64>) -> i64 {
    let mut revision = 0;
    for number in numbers {
        let key = |folder: &str, of: u64| format!("{}{folder}{}", prefix.0, number % of);
        revision = match number % 5 {
            0 => raw::put(etcd, &key("servers/", 3), &format!("address {number}")).await,
            1 => raw::delete(etcd, &key("servers/", 2)).await,
            4 => raw::delete(etcd, &key("leaders/", 7)).await,
            _ => raw::put(etcd, &key("leaders/", 7), &format!("{number} server")).await,
        };
    }
    revision
}

/// Nothing left out, nothing twice, nothing made up; returns how often everything was
/// read anew. Between two such readings the end of what happened may be lost.
fn check(seen: &[Change], history: &[Step]) -> usize {
    let history: Vec<&Step> = history.iter().filter(|it| folder(&it.1).is_some()).collect();
    let readings: Vec<usize> =
        (0..seen.len()).filter(|at| matches!(seen[*at], Change::Everything { .. })).collect();
    assert_eq!(readings[0], 0, "everything comes first");
    for (number, at) in readings.iter().enumerate() {
        let Change::Everything { revision, observed } = &seen[*at] else { unreachable!() };
        assert_eq!(state(observed), replayed(&history, *revision), "at {revision}");
        let next = readings.get(number + 1);
        let told: Vec<Step> =
            seen[at + 1..next.copied().unwrap_or(seen.len())].iter().map(step).collect();
        for name in FOLDERS {
            let of = |step: &&Step| folder(&step.1) == Some(name);
            let told: Vec<&Step> = told.iter().filter(of).collect();
            let happened: Vec<&Step> =
                history.iter().copied().filter(of).filter(|step| step.0 > *revision).collect();
            let until = if next.is_some() { told.len() } else { happened.len() };
            assert_eq!(told, happened[..until], "{name} after {revision}");
        }
    }
    readings.len()
}

fn folder(key: &str) -> Option<&'static str> {
    FOLDERS.into_iter().find(|folder| key.starts_with(folder))
}

fn step(change: &Change) -> Step {
    match change {
        Change::Everything { .. } => unreachable!("cut out"),
        Change::Server { revision, server, about } => {
            (*revision, format!("servers/{server}"), about.clone())
        }
        Change::Leader { revision, namespace, leader } => {
            (*revision, format!("leaders/{namespace}"), leader.as_ref().map(told))
        }
    }
}

fn told(leader: &Leader) -> String {
    format!("{} {}", leader.epoch, leader.server)
}

fn state(observed: &Observed) -> BTreeMap<String, String> {
    let servers =
        observed.servers.iter().map(|(id, about)| (format!("servers/{id}"), about.clone()));
    let leaders = observed.leaders.iter().map(|it| (format!("leaders/{}", it.namespace), told(it)));
    servers.chain(leaders).collect()
}

fn replayed(history: &[&Step], until: i64) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for (_, key, value) in history.iter().take_while(|step| step.0 <= until) {
        match value {
            Some(value) => state.insert(key.clone(), value.clone()),
            None => state.remove(key),
        };
    }
    state
}

async fn seen(watching: Watching) -> Vec<Change> {
    tokio::time::timeout(IN_TIME, watching).await.expect("all is told in time").unwrap()
}

#[tokio::test]
async fn every_change_is_told_once_and_in_order() {
    let (etcd, prefix) = (cluster::shared(), Prefix::fresh());
    let watching = watching(&[etcd.to_owned()], &prefix).await;
    changes(etcd, &prefix, 0..500).await;
    let end = end(etcd, &prefix).await;
    let history = raw::history(etcd, &prefix.0, 1, end).await;
    assert_eq!(check(&seen(watching).await, &history), 1);
}

#[tokio::test]
async fn a_watch_goes_on_where_it_was_after_a_long_outage() {
    let (etcd, prefix) = (cluster::shared(), Prefix::fresh());
    let link = Link::to(etcd).await;
    let watching = watching(std::slice::from_ref(&link.endpoint), &prefix).await;
    changes(etcd, &prefix, 0..50).await;
    link.cut().await;
    changes(etcd, &prefix, 50..600).await;
    // Longer than any call of ours tries.
    tokio::time::sleep(Duration::from_secs(7)).await;
    link.open();
    changes(etcd, &prefix, 600..650).await;
    let end = end(etcd, &prefix).await;
    let history = raw::history(etcd, &prefix.0, 1, end).await;
    assert_eq!(check(&seen(watching).await, &history), 1, "nothing had to be read anew");
}

/// In an etcd of its own: compaction is for all prefixes.
#[tokio::test]
async fn what_was_compacted_away_meanwhile_is_read_anew() {
    let members = Members::of(1);
    let (etcd, prefix) = (&*members.endpoints()[0], Prefix::fresh());
    let link = Link::to(etcd).await;
    let watching = watching(std::slice::from_ref(&link.endpoint), &prefix).await;
    changes(etcd, &prefix, 0..50).await;
    link.cut().await;
    let now = changes(etcd, &prefix, 50..200).await;
    let mut history = raw::history(etcd, &prefix.0, 1, now).await;
    members.compact(0, now);
    link.open();
    changes(etcd, &prefix, 200..250).await;
    let end = end(etcd, &prefix).await;
    history.extend(raw::history(etcd, &prefix.0, now + 1, end).await);
    assert_eq!(check(&seen(watching).await, &history), 2);
}

#[tokio::test]
async fn compaction_does_not_disturb_a_watch_that_keeps_up() {
    let members = Members::of(1);
    let (etcd, prefix) = (&*members.endpoints()[0], Prefix::fresh());
    let watching = watching(&members.endpoints(), &prefix).await;
    let mut history = Vec::new();
    for round in 0..5 {
        let now = changes(etcd, &prefix, round * 50..(round + 1) * 50).await;
        let known = history.last().map_or(0, |step: &Step| step.0);
        history.extend(raw::history(etcd, &prefix.0, known + 1, now).await);
        members.compact(0, now);
    }
    let known = history.last().map_or(0, |step| step.0);
    let end = end(etcd, &prefix).await;
    history.extend(raw::history(etcd, &prefix.0, known + 1, end).await);
    assert_eq!(check(&seen(watching).await, &history), 1);
}

/// Leaderships come and go all the while, through the members that are left.
async fn through_trouble(
    trouble: fn(&Members, usize),
    mend: fn(&mut Members, usize),
    lasting: Duration,
) {
    let mut members = Members::start();
    let (endpoints, prefix) = (members.endpoints(), Prefix::fresh());
    let watching = watching(&endpoints, &prefix).await;
    let stop = Arc::new(AtomicBool::new(false));
    let leading = tokio::spawn(lead_and_resign(endpoints.clone(), prefix.0.clone(), stop.clone()));
    for victim in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        trouble(&members, victim);
        tokio::time::sleep(lasting).await;
        mend(&mut members, victim);
    }
    stop.store(true, Ordering::Relaxed);
    assert!(leading.await.unwrap() > 100, "there was something to be told");
    let end = end(&endpoints[0], &prefix).await;
    let history = raw::history(&endpoints[0], &prefix.0, 1, end).await;
    assert_eq!(check(&seen(watching).await, &history), 1, "nothing had to be read anew");
}

/// Returns how many leaderships there were.
async fn lead_and_resign(endpoints: Vec<String>, prefix: String, stop: Arc<AtomicBool>) -> usize {
    let options = EtcdOptions { prefix: Some(prefix.clone()), ..EtcdOptions::new(&endpoints) };
    let store = EtcdStore::connect(&options).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let server = elections(&endpoints, &Prefix(prefix), "leader").await;
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let leaders = server.observe().await.map(|seen| seen.leaders).unwrap_or_default();
        // What fails now is tried again from what is there then.
        if let Ok(Some(leader)) = server.lead("orders", leaders.first()).await {
            count += 1;
            if count % 3 == 0 {
                let _ = server.resign(&leader).await;
            }
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_while_members_are_killed() {
    // The others elect meanwhile.
    through_trouble(Members::kill, Members::restart, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_while_members_hang() {
    // A watch at the member breaks when that has not answered for four seconds.
    let mend = |members: &mut Members, member| members.go_on(member);
    through_trouble(Members::stop, mend, Duration::from_secs(5)).await;
}
