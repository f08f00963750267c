//! Namespaces come and go whole.

use super::*;

pub async fn creates_a_namespace_only_once(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    store.create(namespace(NAME), vec![grant("a", "first", 1)]).await?;
    let again = NamespaceRecord { frozen: true, ..namespace(NAME) };
    let refusal = store.create(again, vec![grant("a", "second", 2)]).await;
    assert!(matches!(refusal, Err(Error::Exists { namespace }) if &*namespace == NAME));
    assert_eq!(store.namespaces().await?, [namespace(NAME)]);
    assert_eq!(granted(&store.load(NAME).await?), [("a", "first", 1)]);
    Ok(())
}

pub async fn creates_a_namespace_with_its_first_records(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let first = vec![
        grant("a", "x", 1),
        drain_host("h", "upgrade"),
        Write::GenerationFloor(9),
        Write::Namespace(NamespaceRecord { frozen: true, ..namespace(NAME) }),
    ];
    store.create(namespace(NAME), first).await?;
    let stored = store.load(NAME).await?;
    assert_eq!(granted(&stored), [("a", "x", 1)]);
    assert_eq!(stored.drained_hosts, [("h".into(), drain("upgrade"))]);
    assert_eq!(stored.generation_floor, 9);
    assert!(store.namespaces().await?[0].frozen);
    refuses_to_create_with_a_stray_record(&*store).await
}

async fn refuses_to_create_with_a_stray_record(store: &dyn Store) -> Result<(), Error> {
    let stray = vec![grant("a", "x", 1), Write::Namespace(namespace("stray"))];
    let refusal = store.create(namespace("other"), stray).await;
    assert!(matches!(refusal, Err(Error::WrongNamespace { .. })), "{refusal:?}");
    assert_eq!(store.namespaces().await?.len(), 1);
    Ok(())
}

pub async fn lists_namespaces_in_order_of_name(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let fixed = NamespaceRecord {
        kind: Kind::Fixed { shards: 128 },
        settings: vec![("planner".into(), "ring".into()), ("lease".into(), "5s".into())],
        ..namespace("b.fixed")
    };
    for record in [namespace("c"), namespace("a"), fixed.clone(), namespace("B")] {
        store.create(record, Vec::new()).await?;
    }
    let expected = [namespace("B"), namespace("a"), fixed, namespace("c")];
    assert_eq!(store.namespaces().await?, expected);
    Ok(())
}

pub async fn deletes_everything_of_a_namespace(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    store.commit(NAME, epoch, one_of_each()).await?;
    store.delete(NAME).await?;
    assert_eq!(store.namespaces().await?, []);
    store.create(namespace(NAME), Vec::new()).await?;
    assert_eq!(store.load(NAME).await?, Stored::default());
    Ok(())
}

fn one_of_each() -> Vec<Write> {
    vec![
        grant("a", "x", 1),
        drain_shard("a", "hot"),
        drain_host("h", "upgrade"),
        Write::GenerationFloor(9),
        loads(&[("a", 0.5)]),
    ]
}

pub async fn refuses_what_is_not_there(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let refusals = [
        store.delete("ghost").await.err(),
        store.lead("ghost").await.err(),
        store.load("ghost").await.err(),
        store.commit("ghost", Epoch(1), vec![grant("a", "x", 1)]).await.err(),
    ];
    for refusal in refusals {
        assert!(
            matches!(&refusal, Some(Error::NotFound { namespace }) if &**namespace == "ghost"),
            "{refusal:?}"
        );
    }
    Ok(())
}

pub async fn leaves_namespaces_with_a_common_prefix_alone(place: &dyn Place) -> Result<(), Error> {
    let store = place.open().await?;
    let others = ["fo", "foo-bar", "foo.", "foo/bar", "foo0", "foo_", "fop"];
    store.create(namespace("foo"), one_of_each()).await?;
    for other in others {
        store.create(namespace(other), one_of_each()).await?;
    }
    let before = store.load("foo").await?;
    store.delete("foo").await?;
    for other in others {
        assert_eq!(store.load(other).await?, before, "{other}");
    }
    assert!(matches!(store.load("foo").await, Err(Error::NotFound { .. })));
    assert_eq!(store.namespaces().await?.len(), others.len());
    Ok(())
}
