//! A batch is applied whole, in order, at one instant.

use futures::future::{join_all, try_join_all};

use super::*;

pub async fn applies_a_batch_in_order(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let batch = vec![
        grant("a", "x", 1),
        grant("a", "y", 2),
        grant("b", "x", 1),
        release("b"),
        release("c"),
        grant("c", "z", 3),
        drain_shard("a", "hot"),
        Write::UndrainShard { shard: "a".into() },
        Write::UndrainHost { host: "h".into() },
        drain_host("h", "upgrade"),
    ];
    store.commit(NAME, epoch, batch).await?;
    let stored = store.load(NAME).await?;
    assert_eq!(granted(&stored), [("a", "y", 2), ("c", "z", 3)]);
    assert_eq!(stored.drained_shards, []);
    assert_eq!(stored.drained_hosts, [("h".into(), drain("upgrade"))]);
    Ok(())
}

/// A leader can ask in this way whether it is still one.
pub async fn applies_an_empty_batch(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    store.commit(NAME, epoch, Vec::new()).await?;
    store.lead(NAME).await?;
    let refusal = store.commit(NAME, epoch, Vec::new()).await;
    assert!(matches!(refusal, Err(Error::Fenced { .. })), "{refusal:?}");
    Ok(())
}

pub async fn refuses_a_batch_with_the_record_of_another_namespace_whole(
    place: &dyn Place,
) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    store.create(namespace("other"), Vec::new()).await?;
    let frozen = NamespaceRecord { frozen: true, ..namespace("other") };
    let batch = vec![grant("a", "x", 1), Write::Namespace(frozen)];
    let refusal = store.commit(NAME, epoch, batch).await;
    assert!(
        matches!(&refusal, Err(Error::WrongNamespace { namespace, record })
            if &**namespace == NAME && &**record == "other"),
        "{refusal:?}"
    );
    assert_eq!(store.load(NAME).await?, Stored::default());
    assert_eq!(store.namespaces().await?, [namespace(NAME), namespace("other")]);
    Ok(())
}

pub async fn applies_changes_in_the_order_of_the_calls(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let answers: Vec<_> = (1..=200)
        .map(|generation| store.commit(NAME, epoch, vec![grant("a", "x", generation)]))
        .collect();
    // Asked for last, awaited first.
    try_join_all(answers.into_iter().rev()).await?;
    assert_eq!(granted(&store.load(NAME).await?), [("a", "x", 200)]);
    Ok(())
}

pub async fn keeps_concurrent_batches_whole(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    store.commit(NAME, epoch, sweep(0)).await?;
    let writers = (1..=8).map(|writer| tokio::spawn(sweeps(Arc::clone(&store), epoch, writer)));
    let writers = tokio::spawn(join_all(writers.collect::<Vec<_>>()));
    while !writers.is_finished() {
        assert_one_sweep(&store.load(NAME).await?);
    }
    for writer in writers.await.into_iter().flatten() {
        assert!(matches!(writer, Ok(Ok(()))), "{writer:?}");
    }
    assert_one_sweep(&store.load(NAME).await?);
    Ok(())
}

async fn sweeps(store: Arc<dyn Store>, epoch: Epoch, writer: u64) -> Result<(), Error> {
    for round in 0..25 {
        store.commit(NAME, epoch, sweep(writer * 100 + round)).await?;
    }
    Ok(())
}

/// Grants twenty shards with one and the same generation.
fn sweep(generation: u64) -> Vec<Write> {
    (0..20).map(|shard| grant(&format!("{shard:02}"), "x", generation)).collect()
}

fn assert_one_sweep(stored: &Stored) {
    let grants = granted(stored);
    assert_eq!(grants.len(), 20);
    assert!(grants.iter().all(|grant| grant.2 == grants[0].2), "{grants:?}");
}

pub async fn keeps_a_change_whose_answer_is_dropped(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    drop(store.commit(NAME, epoch, vec![grant("a", "x", 1)]));
    store.commit(NAME, epoch, Vec::new()).await?;
    assert_eq!(granted(&store.load(NAME).await?), [("a", "x", 1)]);
    Ok(())
}
