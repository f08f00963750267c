//! What a store that is durable finds again. The others pass unseen.

use super::*;

pub async fn remembers_everything_when_opened_again(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    if !store.is_durable() {
        return Ok(());
    }
    let fixed = NamespaceRecord { kind: Kind::Fixed { shards: 3 }, ..namespace("fixed") };
    store.create(fixed, vec![grant("0", "x", 1)]).await?;
    store.commit(NAME, epoch, everything()).await?;
    let before = contents(&*store).await?;
    drop(store);
    let store = place.open().await?;
    assert_eq!(contents(&*store).await?, before);
    store.commit(NAME, epoch, vec![release("a")]).await
}

fn everything() -> Vec<Write> {
    vec![
        grant("a", "x", 1),
        grant("b", "y", 2),
        drain_shard("a", "hot"),
        drain_host("h", "upgrade"),
        Write::GenerationFloor(9),
        loads(&[("a", 0.5), ("b", 1.5)]),
        Write::Namespace(NamespaceRecord { frozen: true, ..namespace(NAME) }),
    ]
}

async fn contents(store: &dyn Store) -> Result<Vec<(NamespaceRecord, Stored)>, Error> {
    let mut contents = Vec::new();
    for record in store.namespaces().await? {
        let stored = store.load(&record.name).await?;
        contents.push((record, stored));
    }
    Ok(contents)
}

pub async fn forgets_for_good_what_was_deleted(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    if !store.is_durable() {
        return Ok(());
    }
    store.commit(NAME, epoch, everything()).await?;
    store.delete(NAME).await?;
    drop(store);
    let store = place.open().await?;
    assert_eq!(store.namespaces().await?, []);
    store.create(namespace(NAME), Vec::new()).await?;
    assert_eq!(store.load(NAME).await?, Stored::default());
    Ok(())
}

/// Not after a restart, and not after the namespace that had it is gone.
pub async fn never_gives_an_epoch_out_twice(place: &dyn Place) -> Result<(), Error> {
    let (mut store, mut last) = led(place).await?;
    for _ in 0..3 {
        if store.is_durable() {
            drop(store);
            store = place.open().await?;
        }
        store.delete(NAME).await?;
        store.create(namespace(NAME), Vec::new()).await?;
        let epoch = store.lead(NAME).await?;
        assert!(epoch > last, "{epoch} after {last}");
        last = epoch;
    }
    Ok(())
}
