//! One run of `smctl`: what the flags say, and the server when it is needed.
//!
//! Nothing is connected before the flags of a command have been checked and its
//! question has been answered.

use anyhow::{Result, bail};

use crate::cli::Connection;
use crate::server::Server;

pub(crate) struct Session {
    connection: Connection,
}

impl Session {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// The namespace that the command is about.
    pub(crate) fn namespace(&self) -> Result<String> {
        required("namespace", self.connection.namespace.as_deref())
    }

    pub(crate) fn server(&self) -> Result<Server> {
        Server::new(&self.connection)
    }
}

/// The value of a flag that must be there and not be empty.
pub(crate) fn required(flag: &str, value: Option<&str>) -> Result<String> {
    match value {
        Some(value) if !value.is_empty() => Ok(value.to_owned()),
        _ => bail!("--{flag} is required"),
    }
}

/// The values of a flag that must be there at least once, without blank ends.
pub(crate) fn required_all(flag: &str, values: &[String]) -> Result<Vec<String>> {
    let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
    if values.is_empty() {
        bail!("Required flag \"{flag}\" not set");
    }
    if values.iter().any(String::is_empty) {
        bail!("--{flag} must not be empty");
    }
    Ok(values)
}
