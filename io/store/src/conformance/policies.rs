//! Policies: each revision has one winner, and who watches hears of the last.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::BoxStream;

use super::*;
use crate::{KEPT_REVISIONS, MAX_POLICY_BYTES, NewestPolicies, Policies, PolicyHead, PolicyRecord};

const MENU: &str = "menu";
/// No store takes as long to tell.
const IN_TIME: Duration = Duration::from_secs(20);

fn policy(service: &str, revision: u64, text: &str) -> PolicyRecord {
    let head = PolicyHead {
        service: service.into(),
        revision,
        saved_at_ms: 1_700_000_000_000 + revision,
        author: "ada".into(),
        comment: format!("the {revision}th, \"quoted\" / 100 %"),
        rolled_back_to: revision / 2,
    };
    PolicyRecord { head, text: text.into() }
}

/// Revisions 1 to `count` of a service.
async fn saved(store: &dyn Policies, service: &str, count: u64) -> Result<(), Error> {
    for revision in 1..=count {
        let text = format!("# {revision}");
        store.save_policy(revision - 1, policy(service, revision, &text)).await?;
    }
    Ok(())
}

/// Of every service.
async fn revisions(store: &dyn Policies) -> Result<Vec<(String, u64)>, Error> {
    Ok(told(&store.newest_policies().await?))
}

fn told(newest: &NewestPolicies) -> Vec<(String, u64)> {
    newest.iter().map(|(service, head)| (service.to_string(), head.revision)).collect()
}

pub async fn keeps_every_revision_of_a_policy(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    assert_eq!(store.policy(MENU, None).await?, None);
    assert_eq!(store.policy_history(MENU).await?, []);
    saved(&*store, MENU, 3).await?;
    for revision in 1..=3 {
        let wanted = policy(MENU, revision, &format!("# {revision}"));
        assert_eq!(store.policy(MENU, Some(revision)).await?, Some(wanted));
    }
    assert_eq!(store.policy(MENU, None).await?, store.policy(MENU, Some(3)).await?);
    assert_eq!(store.policy(MENU, Some(4)).await?, None);
    let history = store.policy_history(MENU).await?;
    let wanted: Vec<_> = [3, 2, 1].map(|revision| policy(MENU, revision, "").head).into();
    assert_eq!(history, wanted);
    Ok(())
}

pub async fn keeps_policies_of_odd_services_apart(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let names = ["a", "a-b", "a/b", "a%2Fb", "ab", "Grüße"];
    for (number, name) in (1..).zip(names) {
        saved(&*store, name, number).await?;
    }
    let mut wanted: Vec<_> = names.map(str::to_owned).into_iter().zip(1..).collect();
    wanted.sort();
    assert_eq!(revisions(&*store).await?, wanted);
    assert_eq!(store.policy_history("a").await?.len(), 1);
    Ok(())
}

pub async fn refuses_a_policy_that_does_not_follow_the_newest(
    place: &dyn Place,
) -> Result<(), Error> {
    let store = place.open().await?;
    saved(&*store, MENU, 2).await?;
    for (after, revision) in [(0, 1), (1, 2), (3, 4), (2, 2), (2, 1)] {
        let refused = store.save_policy(after, policy(MENU, revision, "late")).await;
        assert!(
            matches!(&refused, Err(Error::PolicyChanged { service, present: 2, .. })
                if &**service == MENU),
            "{revision} after {after}: {refused:?}"
        );
    }
    assert_eq!(store.policy(MENU, None).await?, Some(policy(MENU, 2, "# 2")));
    assert_eq!(store.policy_history(MENU).await?.len(), 2);
    Ok(())
}

pub async fn of_many_who_save_at_once_one_wins_each_revision(
    place: &dyn Place,
) -> Result<(), Error> {
    let store = place.open().await?;
    let writers = (0..50).map(|writer| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { saved_by(&*store, writer).await })
    });
    let mut winners = BTreeMap::new();
    for won in join_all(writers).await {
        let (revision, writer) =
            won.unwrap_or_else(|it| std::panic::resume_unwind(it.into_panic()))?;
        assert_eq!(winners.insert(revision, writer), None, "{revision} was won twice");
    }
    assert_eq!(winners.keys().copied().collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
    for (revision, writer) in winners {
        let kept = store.policy(MENU, Some(revision)).await?;
        assert_eq!(kept, Some(policy(MENU, revision, &format!("# of {writer}"))));
    }
    Ok(())
}

/// Tries until it has won a revision.
async fn saved_by(store: &dyn Policies, writer: u64) -> Result<(u64, u64), Error> {
    loop {
        let newest = store.policy(MENU, None).await?.map_or(0, |record| record.head.revision);
        let record = policy(MENU, newest + 1, &format!("# of {writer}"));
        match store.save_policy(newest, record).await {
            Ok(()) => return Ok((newest + 1, writer)),
            Err(Error::PolicyChanged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

pub async fn keeps_the_newest_revisions_of_a_policy(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let count = KEPT_REVISIONS as u64 + 5;
    saved(&*store, "other", 1).await?;
    saved(&*store, MENU, count).await?;
    let history = store.policy_history(MENU).await?;
    assert_eq!(history.len(), KEPT_REVISIONS);
    assert_eq!((history[0].revision, history[KEPT_REVISIONS - 1].revision), (count, 6));
    assert_eq!(store.policy(MENU, Some(5)).await?, None);
    assert_eq!(store.policy(MENU, Some(6)).await?, Some(policy(MENU, 6, "# 6")));
    assert_eq!(store.policy_history("other").await?.len(), 1);
    Ok(())
}

pub async fn keeps_the_longest_text_and_refuses_a_longer_one(
    place: &dyn Place,
) -> Result<(), Error> {
    let store = place.open().await?;
    let longest = "\"ü\n".repeat(MAX_POLICY_BYTES / 4);
    store.save_policy(0, policy(MENU, 1, &longest)).await?;
    assert_eq!(store.policy(MENU, None).await?.map(|it| it.text.len()), Some(MAX_POLICY_BYTES));
    let longer = store.save_policy(1, policy(MENU, 2, &(longest + "#"))).await;
    assert!(matches!(longer, Err(Error::PolicyTooLong { .. })), "{longer:?}");
    assert_eq!(revisions(&*store).await?, [(MENU.to_owned(), 1)]);
    Ok(())
}

pub async fn begins_a_policy_anew_once_it_is_forgotten(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    saved(&*store, MENU, 3).await?;
    saved(&*store, "menu-2", 1).await?;
    store.forget_policy(MENU).await?;
    store.forget_policy("nobody").await?;
    assert_eq!(store.policy(MENU, None).await?, None);
    assert_eq!(store.policy(MENU, Some(2)).await?, None);
    assert_eq!(store.policy_history(MENU).await?, []);
    assert_eq!(revisions(&*store).await?, [("menu-2".to_owned(), 1)]);
    store.save_policy(0, policy(MENU, 7, "as an import does")).await?;
    assert_eq!(store.policy(MENU, None).await?, Some(policy(MENU, 7, "as an import does")));
    Ok(())
}

pub async fn tells_whoever_watches_of_the_last_revision(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    saved(&*store, MENU, 1).await?;
    let mut early = store.watch_policies();
    assert_eq!(told(&early.next().await.unwrap_or_default()), [(MENU.to_owned(), 1)]);
    for revision in 2..=20 {
        store.save_policy(revision - 1, policy(MENU, revision, "more")).await?;
    }
    store.save_policy(0, policy("other", 1, "")).await?;
    let wanted = [(MENU.to_owned(), 20), ("other".to_owned(), 1)];
    until(&mut early, &wanted).await;
    until(&mut store.watch_policies(), &wanted).await;
    store.forget_policy("other").await?;
    until(&mut early, &wanted[..1]).await;
    Ok(())
}

/// What is told never goes back.
async fn until(watch: &mut BoxStream<'static, NewestPolicies>, wanted: &[(String, u64)]) {
    let mut before = 0;
    let waiting = async {
        while let Some(newest) = watch.next().await {
            let now = newest.get(MENU).map_or(0, |head| head.revision);
            assert!(now >= before, "{now} after {before}");
            before = now;
            if told(&newest) == wanted {
                return;
            }
        }
        panic!("the watch has ended");
    };
    assert!(tokio::time::timeout(IN_TIME, waiting).await.is_ok(), "never told: {wanted:?}");
}

pub async fn remembers_policies_when_opened_again(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    if !store.is_durable() {
        return Ok(());
    }
    saved(&*store, MENU, 3).await?;
    let before = (store.policy(MENU, None).await?, store.policy_history(MENU).await?);
    drop(store);
    let store = place.open().await?;
    let after = (store.policy(MENU, None).await?, store.policy_history(MENU).await?);
    assert_eq!(after, before);
    let first = store.watch_policies().next().await.unwrap_or_default();
    assert_eq!(told(&first), [(MENU.to_owned(), 3)]);
    store.save_policy(3, policy(MENU, 4, "and goes on")).await
}
