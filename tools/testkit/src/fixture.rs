//! A namespace that a test begins with.

use plimsoll_server::config::Namespace;

/// A namespace of the server's configuration.
#[derive(Clone, Debug)]
pub struct Fixture {
    namespace: Namespace,
}

impl Fixture {
    /// Shards "0" to "n - 1".
    pub fn fixed(name: &str, shards: u64) -> Self {
        Self::new(name, "fixed", shards)
    }

    /// Shards made by the first use.
    pub fn ephemeral(name: &str) -> Self {
        Self::new(name, "ephemeral", 0)
    }

    fn new(name: &str, kind: &str, shards: u64) -> Self {
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Self { namespace: Namespace { name, kind, shards, settings: toml::Table::new() } }
    }

    /// With a setting by its dotted name.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.namespace.settings.insert(name.to_owned(), value.into());
        self
    }

    /// Short leases, so that a test that waits for one ends soon; long enough
    /// for a busy machine not to lose one by accident.
    #[must_use]
    pub fn quick(self) -> Self {
        self.lease("1s")
            .set("beat", "100ms")
            .set("period", "100ms")
            .set("rebalance_cooldown", "50ms")
    }

    /// With this lease for executors of either kind.
    #[must_use]
    pub fn lease(self, span: &str) -> Self {
        self.set("lease", span).set("heartbeat_ttl", span)
    }

    pub(crate) fn into_config(self) -> Namespace {
        self.namespace
    }

    /// As a table of the server's configuration file.
    pub fn to_toml(&self) -> String {
        let Namespace { name, kind, shards, settings } = &self.namespace;
        let shards = if *shards > 0 { format!("shards = {shards}\n") } else { String::new() };
        let settings: String = settings.iter().map(|(k, v)| format!("{k:?} = {v}\n")).collect();
        format!(
            "[[namespaces]]\nname = {name:?}\ntype = {kind:?}\n{shards}[namespaces.settings]\n{settings}"
        )
    }
}
