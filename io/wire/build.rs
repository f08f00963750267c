//! Turns proto/ into Rust without protoc.
//!
//! The server half of `WatchNamespaceState` is generated as stream to stream:
//! the Go client never half-closes its request, and a handler generated as
//! "one request, stream of answers" would wait for that end for ever.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use prost::Message;
use prost_types::FileDescriptorSet;

const FILES: [&str; 8] = [
    "uber/cadence/sharddistributor/v1/executor.proto",
    "uber/cadence/sharddistributor/v1/service.proto",
    "uber/cadence/sharddistributor/v1/canary.proto",
    "plimsoll/v1/executor.proto",
    "plimsoll/v1/routing.proto",
    "plimsoll/v1/admin.proto",
    "plimsoll/v1/peer.proto",
    "plimsoll/v1/policy.proto",
];

fn main() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR").context("cargo sets OUT_DIR")?);
    println!("cargo:rerun-if-changed=../../proto");
    let descriptors = protox::compile(FILES, ["../../proto"])?;
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .compile_fds_with_config(read_one_message_and_go_on(descriptors), messages())?;
    Ok(())
}

/// Messages know their full names: typed errors travel by them.
fn messages() -> prost_build::Config {
    let mut config = prost_build::Config::new();
    config.enable_type_names();
    config
}

/// Declares the request of every server-streaming call of the Go wire a stream.
fn read_one_message_and_go_on(mut descriptors: FileDescriptorSet) -> FileDescriptorSet {
    let calls = descriptors
        .file
        .iter_mut()
        .filter(|file| file.package() == "uber.cadence.sharddistributor.v1")
        .flat_map(|file| &mut file.service)
        .flat_map(|service| &mut service.method);
    for call in calls.filter(|call| call.server_streaming()) {
        call.client_streaming = Some(true);
    }
    descriptors
}
