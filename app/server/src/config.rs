//! The server's configuration: defaults, then a TOML file, then the environment.
//!
//! Every key `a.b` is also the variable `PLIMSOLL_A_B`. A key that nobody knows
//! is refused with the nearest one that exists: a typing error must not become
//! a default in production.

mod etcd;
mod keys;
mod listen;
mod number;
mod orders;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use listen::check_exposure;

use crate::tls::Error as TlsError;

/// Everything that can be set.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where state is kept: `file`, `memory` or `etcd`.
    pub store: StoreKind,
    /// The folder of the file store.
    pub data_dir: PathBuf,
    /// Listen beyond loopback without client certificates.
    pub allow_open: bool,
    /// How other servers reach this one's gRPC port: `host:port`. Empty: as it
    /// listens, if that says a host.
    pub advertise: String,
    pub grpc: Listener,
    pub http: Http,
    pub tls: Tls,
    pub etcd: Etcd,
    pub policies: Policies,
    pub log: Log,
    /// Namespaces to create if the store does not have them.
    pub namespaces: Vec<Namespace>,
}

/// Which store.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    #[default]
    File,
    Memory,
    Etcd,
}

/// Where etcd is, for several servers.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Etcd {
    /// Its members, with commas between them: `http://a:2379,http://b:2379`.
    pub urls: String,
    /// Every key begins with it. Empty: `/plimsoll/`.
    pub prefix: String,
    /// Who signed the members' certificates: a PEM file. Needed for `https`: no
    /// authority is built in.
    pub ca: PathBuf,
    /// Our certificate and its key for etcd: PEM files, both or neither.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who we are to etcd, if its authentication is on.
    pub user: String,
    /// The file that holds the password, and nothing else.
    pub password_file: PathBuf,
}

/// A port.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Listener {
    /// Address and port; port 0 takes a free one. Empty: the default.
    pub listen: String,
}

/// The HTTP port, with the console.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// As of any port.
    pub listen: String,
    /// Whether the console takes orders: `auto`, `on` or `off`.
    pub orders: Orders,
    /// Host names, with commas between them, by which browsers may reach the console
    /// to give orders, beside `localhost` and addresses.
    pub names: String,
}

/// Whether the console takes orders.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Orders {
    /// Unless the gRPC port asks for client certificates, which the HTTP port cannot.
    #[default]
    Auto,
    On,
    Off,
}

/// TLS of the gRPC port. All paths are PEM files; empty: none.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Clients must show a certificate that this authority signed.
    pub client_ca: PathBuf,
    /// Which authority signs the servers' own certificates, for calls from server
    /// to server. Empty: `client_ca`.
    pub server_ca: PathBuf,
}

/// Policies of services, and the instances that follow them.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policies {
    /// Instances that may be connected to this server at a time.
    #[serde(deserialize_with = "number::count")]
    pub max_instances: usize,
}

/// Logging.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// As in `RUST_LOG`, e.g. `info,plimsoll_server=debug`.
    pub filter: String,
    /// `text` or `json`.
    pub format: String,
}

/// A namespace to create.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Namespace {
    pub name: String,
    /// `fixed` or `ephemeral`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of shards of a fixed one.
    pub shards: u64,
    /// Setting names and values; they may be nested tables.
    pub settings: toml::Table,
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {source}; check the path given with --config")]
    Read { path: String, source: std::io::Error },
    #[error("{origin} is not valid TOML: {source}")]
    Syntax { origin: String, source: Box<toml::de::Error> },
    #[error("there is no key {key:?} in {origin}{hint}")]
    UnknownKey { origin: String, key: String, hint: String },
    #[error("{origin}: {source}")]
    Value { origin: String, source: Box<toml::de::Error> },
    #[error("{key} = {value:?} is not an address such as 127.0.0.1:7943")]
    Address { key: &'static str, value: String },
    #[error(
        "{key} = {value} would serve anybody who can reach it: set tls.certificate, tls.key and \
         tls.client_ca, listen on a loopback address, or say --allow-open"
    )]
    Exposed { key: &'static str, value: String },
    #[error("tls.{missing} is missing: TLS needs tls.certificate and tls.key together")]
    HalfTls { missing: &'static str },
    #[error("namespace {name:?}: {reason}")]
    Namespace { name: String, reason: String },
    #[error(
        "store = \"etcd\" needs to know where etcd is: set etcd.urls (--etcd \
         http://a:2379,http://b:2379)"
    )]
    NoEtcd,
    #[error("etcd.{0} is set but the store is not etcd: say store = \"etcd\" or leave it out")]
    EtcdUnused(&'static str),
    #[error("etcd.{missing} is missing: {because}")]
    HalfEtcd { missing: &'static str, because: &'static str },
    #[error("{0}")]
    EtcdFile(#[from] TlsError),
    #[error(
        "other servers cannot reach this one at {0}: say with --advertise HOST:PORT how they can"
    )]
    NoAdvertise(String),
    #[error("advertise = {0:?} is not HOST:PORT, such as server-1.example:7943")]
    Advertise(String),
    #[error(
        "servers must know who signs each other's certificates: set tls.server_ca (or tls.client_ca)"
    )]
    NoServerCa,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            store: StoreKind::File,
            data_dir: PathBuf::from("./plimsoll-data"),
            allow_open: false,
            advertise: String::new(),
            grpc: Listener { listen: "127.0.0.1:7943".to_owned() },
            http: Http::default(),
            tls: Tls::default(),
            etcd: Etcd::default(),
            policies: Policies::default(),
            log: Log::default(),
            namespaces: Vec::new(),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        let listen = "127.0.0.1:7944".to_owned();
        Self { listen, orders: Orders::Auto, names: String::new() }
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self { max_instances: 10_000 }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { filter: "info".to_owned(), format: "text".to_owned() }
    }
}

impl Config {
    /// The configuration from a file's text, if there is one, and variables.
    ///
    /// # Errors
    /// Broken TOML, unknown keys, values of the wrong kind.
    pub fn load(
        file: Option<(&str, &str)>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let (origin, text) = file.unwrap_or(("the configuration", ""));
        let mut table: toml::Table = text.parse().map_err(|source| Error::Syntax {
            origin: origin.to_owned(),
            source: Box::new(source),
        })?;
        let known = keys::known();
        keys::refuse_unknown(origin, &table, &known)?;
        keys::add_variables(&mut table, &known, variables);
        let value = |source| Error::Value { origin: origin.to_owned(), source: Box::new(source) };
        // Through text once more, so that an error shows the line.
        let text =
            if origin == "the configuration" { table.to_string() } else { text_of(text, &table) };
        toml::from_str(&text).map_err(value)
    }
}

/// The file's own text if the environment changed nothing, for its line numbers.
fn text_of(text: &str, table: &toml::Table) -> String {
    match text.parse::<toml::Table>() {
        Ok(same) if same == *table => text.to_owned(),
        Ok(_) | Err(_) => table.to_string(),
    }
}

impl Namespace {
    /// The settings with dotted names, as the core knows them.
    pub fn flat_settings(&self) -> Vec<(String, String)> {
        keys::flatten(&self.settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, Error> {
        Config::load(Some(("plimsoll.toml", text)), [])
    }

    fn variable(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn nothing_is_a_sensible_configuration() {
        assert_eq!(Config::load(None, []).unwrap(), Config::default());
    }

    #[test]
    fn a_misspelt_key_is_refused_with_the_nearest() {
        let error = load("[grpc]\nlitsen = \"127.0.0.1:1\"").unwrap_err().to_string();
        assert!(error.contains("grpc.litsen") && error.contains("\"grpc.listen\""), "{error}");
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_line() {
        let error = load("allow_open = 1\nstore = \"redis\"").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }

    #[test]
    fn variables_win_over_the_file() {
        let variables = [
            variable("PLIMSOLL_HTTP_LISTEN", "127.0.0.1:9"),
            variable("PLIMSOLL_ALLOW_OPEN", "true"),
            variable("PLIMSOLL_POLICIES_MAX_INSTANCES", "50"),
            variable("PLIMSOLL_UNRELATED", "x"),
        ];
        let file = ("plimsoll.toml", "[http]\nlisten = \"127.0.0.1:8\"");
        let config = Config::load(Some(file), variables).unwrap();
        assert_eq!(config.http.listen, "127.0.0.1:9");
        assert!(config.allow_open);
        assert_eq!(config.policies.max_instances, 50);
    }

    #[test]
    fn settings_may_be_nested_or_dotted() {
        let config = load(
            "[[namespaces]]\nname = \"a\"\ntype = \"fixed\"\nshards = 4\n[namespaces.settings]\nlease = \"3s\"\n[namespaces.settings.load_balancing_greedy]\nper_shard_cooldown = \"5s\"",
        )
        .unwrap();
        let settings = config.namespaces[0].flat_settings();
        let expected = [
            ("lease".to_owned(), "3s".to_owned()),
            ("load_balancing_greedy.per_shard_cooldown".to_owned(), "5s".to_owned()),
        ];
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_misspelt_setting_is_refused_with_the_nearest() {
        let text = "[[namespaces]]\nname = \"a\"\n[namespaces.settings]\nheartbeat_tll = \"3s\"";
        let error = load(text).unwrap_err().to_string();
        assert!(error.contains("heartbeat_ttl"), "{error}");
    }
}
