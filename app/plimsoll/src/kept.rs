//! Where state is kept: the flags that every command about a store takes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use plimsoll_server::Config;
use plimsoll_server::config::{Error as ConfigError, StoreKind};

#[derive(Args, Debug)]
pub(crate) struct StoreOptions {
    /// Configuration file; see docs/configure.md
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_CONFIG")]
    config: Option<PathBuf>,
    /// Where state is kept
    #[arg(long)]
    store: Option<Kept>,
    /// Folder of the file store [default: ./plimsoll-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Members of etcd, with commas between them, e.g. http://a:2379,http://b:2379
    #[arg(long, value_name = "URLS")]
    etcd: Option<String>,
    /// Every key in etcd begins with it [default: /plimsoll/]
    #[arg(long, value_name = "PREFIX")]
    etcd_prefix: Option<String>,
    /// Who signed the certificates of etcd's members (PEM)
    #[arg(long, value_name = "FILE")]
    etcd_ca: Option<PathBuf>,
    /// Certificate that etcd is shown (PEM)
    #[arg(long, value_name = "FILE")]
    etcd_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE")]
    etcd_key: Option<PathBuf>,
    /// User of etcd, if its authentication is on
    #[arg(long, value_name = "NAME")]
    etcd_user: Option<String>,
    /// File with that user's password
    #[arg(long, value_name = "FILE")]
    etcd_password_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kept {
    File,
    Memory,
    Etcd,
}

impl StoreOptions {
    /// The configuration: flags win over variables, variables over the file, the file
    /// over defaults.
    pub(crate) fn configuration(self) -> Result<Config> {
        let file = self.config.as_deref().map(read).transpose()?;
        let file = file.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
        let mut config = Config::load(file, std::env::vars())?;
        if let Some(store) = self.store {
            config.store = match store {
                Kept::File => StoreKind::File,
                Kept::Memory => StoreKind::Memory,
                Kept::Etcd => StoreKind::Etcd,
            };
        }
        put(&mut config.data_dir, self.data_dir);
        put(&mut config.etcd.urls, self.etcd);
        put(&mut config.etcd.prefix, self.etcd_prefix);
        put(&mut config.etcd.ca, self.etcd_ca);
        put(&mut config.etcd.certificate, self.etcd_cert);
        put(&mut config.etcd.key, self.etcd_key);
        put(&mut config.etcd.user, self.etcd_user);
        put(&mut config.etcd.password_file, self.etcd_password_file);
        Ok(config)
    }
}

/// A flag that was given wins.
pub(crate) fn put<T>(key: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *key = value;
    }
}

fn read(path: &Path) -> Result<(String, String), ConfigError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((name, text)),
        Err(source) => Err(ConfigError::Read { path: name, source }),
    }
}
