//! Applications choose shard keys, executors and hosts; a store takes any.

use super::*;

pub async fn keeps_odd_keys(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let keys = odd_keys();
    store.commit(NAME, epoch, keys.iter().flat_map(|key| everything_of(key)).collect()).await?;
    let checkpoint = keys.iter().map(|key| (key.clone(), 1.0)).collect();
    store.commit(NAME, epoch, vec![Write::Loads(checkpoint)]).await?;
    let stored = store.load(NAME).await?;
    let sorted: Vec<_> = keys.iter().map(|key| &**key).collect();
    let grants = granted(&stored);
    assert_eq!(grants.iter().map(|grant| grant.0).collect::<Vec<_>>(), sorted);
    assert!(grants.iter().all(|grant| grant.0 == grant.1));
    assert_eq!(names(&stored.drained_shards), sorted);
    assert_eq!(names(&stored.drained_hosts), sorted);
    assert_eq!(names(&stored.loads), sorted);
    releases_one_odd_key_at_a_time(&*store, epoch, &keys).await
}

async fn releases_one_odd_key_at_a_time(
    store: &dyn Store,
    epoch: Epoch,
    keys: &[Arc<str>],
) -> Result<(), Error> {
    for (index, key) in keys.iter().enumerate() {
        store.commit(NAME, epoch, vec![release(key)]).await?;
        let left = store.load(NAME).await?.grants;
        assert_eq!(names(&left), keys[index + 1..].iter().map(|key| &**key).collect::<Vec<_>>());
    }
    Ok(())
}

fn everything_of(key: &str) -> [Write; 3] {
    [grant(key, key, 1), drain_shard(key, key), drain_host(key, key)]
}

fn names<T>(entries: &[(Arc<str>, T)]) -> Vec<&str> {
    entries.iter().map(|(name, _)| &**name).collect()
}

/// In order.
fn odd_keys() -> Vec<Arc<str>> {
    let long = "k".repeat(1024);
    let mut keys = vec![
        "",
        "\0",
        "\0\0",
        " ",
        "\n",
        "\"",
        "%2F",
        ".",
        "..",
        "/",
        "//",
        "/a",
        "a",
        "a\0",
        "a\0b",
        "a/",
        "a/b",
        "b",
        "\u{7f}",
        "é",
        "e\u{301}",
        "日本",
        "🦀",
        "\u{10ffff}",
        &long,
    ];
    keys.sort_unstable();
    keys.into_iter().map(Arc::from).collect()
}
