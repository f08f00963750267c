//! What a server tells the others of itself, in etcd.

use serde::{Deserialize, Serialize};

/// One server.
#[derive(Clone, Deserialize, Serialize)]
pub struct About {
    /// `host:port` of its gRPC port.
    pub address: String,
    pub version: String,
    /// Shown by it with every call to another server: only who can read etcd has it.
    pub key: String,
}

impl About {
    /// This version at that address, with a new key.
    pub fn new(address: &str) -> Self {
        let key = format!("{:032x}", rand::random::<u128>());
        Self { address: address.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), key }
    }

    pub(super) fn to_text(&self) -> String {
        // Three strings always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` if a later version, or somebody else, wrote what nobody understands.
    pub(super) fn parse(id: &str, text: &str) -> Option<Self> {
        let parsed = serde_json::from_str(text);
        parsed.inspect_err(|error| tracing::error!(id, %error, "a server is not known")).ok()
    }
}

// Without what is secret.
impl std::fmt::Debug for About {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("About")
            .field("address", &self.address)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
