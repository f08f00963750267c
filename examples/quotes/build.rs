//! Turns proto/ into Rust without protoc.

use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result};
use prost::Message;

fn main() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR").context("cargo sets OUT_DIR")?);
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(["quotes.proto"], ["proto"])?;
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().build_client(false).compile_fds(descriptors)?;
    Ok(())
}
