//! Sizes that a single value, a single transaction or a quadratic loop would not
//! survive.

use super::*;

const SHARDS: usize = 100_000;
const EXECUTORS: usize = 1_000;
const WRITES_A_BATCH: usize = 1_000;

pub async fn loads_a_hundred_thousand_shards_in_order(place: &dyn Place) -> Result<(), Error> {
    let (store, epoch) = led(place).await?;
    let shards: Vec<_> = (0..SHARDS).map(|number| number * 7_919 % SHARDS).collect();
    for batch in shards.chunks(WRITES_A_BATCH) {
        let writes = batch.iter().map(|shard| grant(&shard_key(*shard), &executor(*shard), 1));
        store.commit(NAME, epoch, writes.collect()).await?;
    }
    let stored = store.load(NAME).await?;
    assert_eq!(stored.grants.len(), SHARDS);
    for (number, (shard, grant)) in stored.grants.iter().enumerate() {
        assert_eq!((&**shard, &*grant.executor), (&*shard_key(number), &*executor(number)));
    }
    Ok(())
}

fn shard_key(number: usize) -> String {
    format!("shard-{number:06}")
}

fn executor(shard: usize) -> String {
    format!("executor-{:04}", shard % EXECUTORS)
}
