//! Three members, of which one dies or hangs.

use std::time::{Duration, Instant};

use plimsoll_store::{EtcdOptions, EtcdStore, Store};

use super::cluster::Members;
use super::{grant, orders};

/// An election among members takes up to two seconds, and a call asks the next
/// member after one and a half.
const AT_MOST: Duration = Duration::from_secs(8);

async fn store(members: &Members) -> EtcdStore {
    EtcdStore::connect(&EtcdOptions::new(members.endpoints())).await.unwrap()
}

/// Every change passes, whichever member is in trouble, each within a bound.
async fn keeps_committing(trouble: fn(&Members, usize), mend: fn(&mut Members, usize)) {
    let mut members = Members::start();
    let store = store(&members).await;
    store.create(orders(), Vec::new()).await.unwrap();
    let epoch = store.lead("orders").await.unwrap();
    let mut generation = 0;
    for victim in 0..3 {
        trouble(&members, victim);
        for _ in 0..20 {
            generation += 1;
            let begun = Instant::now();
            while let Err(error) = store.commit("orders", epoch, vec![grant("1", generation)]).await
            {
                assert!(begun.elapsed() < AT_MOST, "member {victim}: {error}");
            }
        }
        mend(&mut members, victim);
    }
    assert_eq!(store.load("orders").await.unwrap().grants[0].1.generation, generation);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_pass_while_a_member_is_dead() {
    keeps_committing(Members::kill, Members::restart).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_pass_while_a_member_hangs() {
    keeps_committing(Members::stop, |members, member| members.go_on(member)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_an_error_says_so_in_time() {
    let members = Members::start();
    let store = store(&members).await;
    store.create(orders(), Vec::new()).await.unwrap();
    let epoch = store.lead("orders").await.unwrap();
    members.kill(0);
    members.kill(1);
    let begun = Instant::now();
    let error = store.commit("orders", epoch, vec![grant("1", 1)]).await.unwrap_err();
    assert!(begun.elapsed() < AT_MOST, "{:?}", begun.elapsed());
    assert!(error.to_string().contains("majority"), "{error}");
}
