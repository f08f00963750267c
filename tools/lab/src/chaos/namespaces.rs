//! What is sharded in a run.

use plimsoll_testkit::Fixture;

/// Namespaces with shards "0" to "n - 1", which spectators send requests to.
pub(super) const FIXED: [(&str, u64); 2] = [("orders", 40), ("carts", 20)];
/// The namespace in which new shards are created all the time, to see whether
/// they are granted.
pub(super) const CREATED: &str = "jobs";
/// Of executors with a session: as docs/operate.md advises for several servers, so
/// that a leader that hangs is replaced before it ends.
pub(super) const LEASE: std::time::Duration = std::time::Duration::from_secs(5);

/// Every namespace.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    FIXED.iter().map(|(name, _)| *name).chain([CREATED])
}

/// Every shard of the fixed ones, with its namespace.
pub(super) fn shards() -> impl Iterator<Item = String> {
    let of = |&(name, count): &(&'static str, u64)| (0..count).map(move |n| format!("{name}/{n}"));
    FIXED.iter().flat_map(of)
}

/// As servers are told.
pub(super) fn configuration() -> String {
    let fixed = FIXED.iter().map(|(name, count)| Fixture::fixed(name, *count));
    let all = fixed.chain([Fixture::ephemeral(CREATED)]);
    let lease = format!("{}s", LEASE.as_secs());
    let text = all.map(|it| {
        it.lease(&lease)
            .set("beat", "500ms")
            .set("period", "1s")
            .set("restart_grace", "5s")
            .to_toml()
    });
    text.collect::<Vec<_>>().join("\n")
}
