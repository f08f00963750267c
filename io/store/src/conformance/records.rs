//! Each kind of record comes back as it was written.

use super::*;

pub async fn replaces_and_releases_grants(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let first = vec![grant("b", "x", 1), grant("a", "x", 2), grant("c", "y", 3)];
    store.commit(NAME, epoch, first).await?;
    store.commit(NAME, epoch, vec![grant("b", "y", 4), release("a"), release("ghost")]).await?;
    assert_eq!(granted(&store.load(NAME).await?), [("b", "y", 4), ("c", "y", 3)]);
    Ok(())
}

pub async fn keeps_drains_of_shards_and_hosts_apart(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let drains = vec![
        drain_shard("same", "crash-loop"),
        drain_host("same", "upgrade"),
        drain_shard("b", ""),
        drain_shard("a", "hot"),
    ];
    store.commit(NAME, epoch, drains).await?;
    store.commit(NAME, epoch, vec![drain_shard("b", "again")]).await?;
    store.commit(NAME, epoch, vec![Write::UndrainHost { host: "same".into() }]).await?;
    let stored = store.load(NAME).await?;
    let expected = [("a", "hot"), ("b", "again"), ("same", "crash-loop")];
    assert_eq!(stored.drained_shards, expected.map(|(key, why)| (key.into(), drain(why))));
    assert_eq!(stored.drained_hosts, []);
    assert_eq!(stored.grants, []);
    Ok(())
}

pub async fn never_lowers_the_generation_floor(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    for (written, kept) in [(1_000, 1_000), (10, 1_000), (1_001, 1_001), (u64::MAX, u64::MAX)] {
        store.commit(NAME, epoch, vec![Write::GenerationFloor(written)]).await?;
        assert_eq!(store.load(NAME).await?.generation_floor, kept);
    }
    Ok(())
}

pub async fn replaces_the_record_of_a_namespace(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let batch = vec![grant("a", "x", 1), Write::GenerationFloor(7)];
    store.commit(NAME, epoch, batch).await?;
    let changed = NamespaceRecord {
        settings: vec![("note".into(), "\"quotes\", \n, ünïcode".into()), ("z".into(), "".into())],
        frozen: true,
        ..namespace(NAME)
    };
    for record in [changed, namespace(NAME)] {
        store.commit(NAME, epoch, vec![Write::Namespace(record.clone())]).await?;
        assert_eq!(store.namespaces().await?, [record]);
    }
    let stored = store.load(NAME).await?;
    assert_eq!((granted(&stored), stored.generation_floor), (vec![("a", "x", 1)], 7));
    Ok(())
}

pub async fn replaces_loads_whole(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    // More than one chunk of any store, then less than one, then nothing.
    let many: Vec<_> = (0..10_000).map(|n| (format!("{n:05}").into(), f64::from(n))).collect();
    let shuffled = many.iter().rev().cloned().collect();
    store.commit(NAME, epoch, vec![Write::Loads(shuffled)]).await?;
    assert_eq!(store.load(NAME).await?.loads, many);
    store.commit(NAME, epoch, vec![loads(&[("b", 2.0), ("a", 1.0), ("b", 3.0)])]).await?;
    assert_eq!(store.load(NAME).await?.loads, [("a".into(), 1.0), ("b".into(), 3.0)]);
    store.commit(NAME, epoch, vec![loads(&[])]).await?;
    assert_eq!(store.load(NAME).await?.loads, []);
    Ok(())
}

pub async fn keeps_extreme_numbers(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let numbers =
        [0.0, -0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, 0.1 + 0.2];
    let written: Vec<_> =
        numbers.iter().enumerate().map(|(n, x)| (format!("{n}").into(), *x)).collect();
    let batch = vec![grant("a", "x", u64::MAX), grant("b", "x", 0), Write::Loads(written)];
    store.commit(NAME, epoch, batch).await?;
    let stored = store.load(NAME).await?;
    assert_eq!(granted(&stored), [("a", "x", u64::MAX), ("b", "x", 0)]);
    let bits: Vec<_> = stored.loads.iter().map(|(_, load)| load.to_bits()).collect();
    assert_eq!(bits, numbers.map(f64::to_bits));
    Ok(())
}
