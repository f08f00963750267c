//! Only the last leader elected can change a namespace.

use std::collections::BTreeSet;

use futures::future::{join, try_join_all};

use super::*;

pub async fn fences_out_the_earlier_leader(place: &dyn Place) -> Result<(), Error> {
    let (store, old) = led(place).await?;
    store.commit(NAME, old, vec![grant("a", "x", 1)]).await?;
    let new = store.lead(NAME).await?;
    assert!(new > old);
    assert_fenced(&*store, old, new).await;
    store.commit(NAME, new, vec![grant("b", "y", 2)]).await?;
    assert_eq!(granted(&store.load(NAME).await?), [("a", "x", 1), ("b", "y", 2)]);
    Ok(())
}

async fn assert_fenced(store: &dyn Store, old: Epoch, new: Epoch) {
    let refusal = store.commit(NAME, old, vec![grant("a", "stale", 9), release("b")]).await;
    assert!(
        matches!(&refusal, Err(Error::Fenced { namespace, epoch, current })
            if &**namespace == NAME && *epoch == old && *current == new),
        "{refusal:?}"
    );
}

pub async fn fences_out_whoever_never_led(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    for impostor in [Epoch(0), Epoch(epoch.0 + 1), Epoch(u64::MAX)] {
        assert_fenced(&*store, impostor, epoch).await;
    }
    store.create(namespace("leaderless"), Vec::new()).await?;
    let refusal = store.commit("leaderless", Epoch(0), vec![grant("a", "x", 1)]).await;
    assert!(matches!(refusal, Err(Error::Fenced { .. })), "{refusal:?}");
    Ok(())
}

pub async fn elects_one_of_many_concurrent_leaders(place: &dyn Place) -> Result<(), Error> {
    let (store, _) = led(place).await?;
    let epochs: BTreeSet<_> =
        try_join_all((0..32).map(|_| elected(&store))).await?.into_iter().collect();
    assert_eq!(epochs.len(), 32);
    for epoch in &epochs {
        let passes = store.commit(NAME, *epoch, vec![grant("a", "x", epoch.0)]).await.is_ok();
        assert_eq!(passes, Some(epoch) == epochs.last());
    }
    Ok(())
}

async fn elected(store: &Arc<dyn Store>) -> Result<Epoch, Error> {
    let store = Arc::clone(store);
    let election = tokio::spawn(async move { store.lead(NAME).await });
    election.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

pub async fn leads_namespaces_apart(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    store.create(namespace("other"), Vec::new()).await?;
    let other = store.lead("other").await?;
    store.commit(NAME, epoch, vec![grant("a", "x", 1)]).await?;
    store.commit("other", other, vec![grant("a", "y", 1)]).await?;
    let foreign = store.commit("other", epoch, vec![grant("a", "z", 2)]).await;
    assert!(matches!(foreign, Err(Error::Fenced { .. })), "{foreign:?}");
    assert_eq!(granted(&store.load(NAME).await?), [("a", "x", 1)]);
    assert_eq!(granted(&store.load("other").await?), [("a", "y", 1)]);
    Ok(())
}

pub async fn fences_leaders_of_a_deleted_namespace_out_of_its_successor(
    place: &dyn Place,
) -> Result<(), Error> {
    let (store, old) = led(place).await?;
    store.delete(NAME).await?;
    store.create(namespace(NAME), Vec::new()).await?;
    let refusal = store.commit(NAME, old, vec![grant("a", "x", 1)]).await;
    assert!(matches!(refusal, Err(Error::Fenced { .. })), "{refusal:?}");
    assert!(store.lead(NAME).await? > old);
    Ok(())
}

pub async fn a_fenced_batch_does_not_spoil_its_neighbours(place: &dyn Place) -> Result<(), Error> {
    let (store, old) = led(place).await?;
    let new = store.lead(NAME).await?;
    let pairs = (0..100).map(|n| {
        let shard = format!("{n:03}");
        join(
            store.commit(NAME, old, vec![grant(&shard, "stale", 1)]),
            store.commit(NAME, new, vec![grant(&shard, "x", 1)]),
        )
    });
    for (stale, current) in futures::future::join_all(pairs).await {
        assert!(matches!(stale, Err(Error::Fenced { .. })), "{stale:?}");
        current?;
    }
    let stored = store.load(NAME).await?;
    assert_eq!(stored.grants.len(), 100);
    assert!(granted(&stored).iter().all(|grant| grant.1 == "x"));
    Ok(())
}
