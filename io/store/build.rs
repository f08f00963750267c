//! Turns proto/etcd into a client without protoc.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../../proto/etcd");
    let descriptors = protox::compile(["etcd/etcd.proto"], ["../../proto"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(descriptors)?;
    Ok(())
}
