//! Where the workspace is and how its cargo is called.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    // Of the run if cargo started us, else of the build.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).map_or_else(|| manifest.clone(), PathBuf::from)
}

/// The cargo that runs us, in the root of the checkout.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}
