//! The wire: code generated from proto/ and nothing that decides anything.
//!
//! `sharddistributor` is the Go Shard Manager's wire, kept exactly; `v1` is
//! Plimsoll's own. Only this crate knows protobuf field by field; conversions
//! to and from the cores stand beside it.

pub mod convert;
pub mod status;

pub use convert::NotUnderstood;

/// The Go Shard Manager's wire, `uber.cadence.sharddistributor.v1`.
#[allow(missing_debug_implementations, unreachable_pub, clippy::all)]
pub mod sharddistributor {
    tonic::include_proto!("uber.cadence.sharddistributor.v1");
}

/// Plimsoll's own wire, `plimsoll.v1`.
#[allow(missing_debug_implementations, unreachable_pub, clippy::all)]
pub mod v1 {
    tonic::include_proto!("plimsoll.v1");
}

/// Both packages as a serialized `FileDescriptorSet`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Metadata of a call that gives an order: who gives it, as UTF-8.
pub const ORDERED_BY: &str = "plimsoll-ordered-by-bin";

/// Metadata of a call that gives an order: why, as UTF-8.
pub const REASON: &str = "plimsoll-reason-bin";

/// The largest message either side accepts: what YARPC servers accept.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
