//! From the application's keys to the shards of a fixed namespace.

use xxhash_rust::xxh3::xxh3_64;

/// The shard of a key in a fixed namespace of `shards` shards (at least one): the
/// same in every process and every release. In an ephemeral namespace the key
/// itself is the shard.
///
/// ```
/// assert_eq!(plimsoll_client::shard_of("user-17", 32), "1");
/// ```
pub fn shard_of(key: &str, shards: u32) -> String {
    (xxh3_64(key.as_bytes()) % u64::from(shards.max(1))).to_string()
}
