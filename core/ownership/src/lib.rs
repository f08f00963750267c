//! Who owns a shard: one namespace as a state machine.
//!
//! Passive: events and the time go in, actions and the next deadline come out.
//! It decides leases, handovers, drains, quarantine and ephemeral creation, and
//! asks `plimsoll-placement` where shards go. It performs no I/O and reads no
//! clock; a change is an action to store before anybody is told of it.
//!
//! [`namespace::Namespace`] is the server's half, [`holder::Holder`] the
//! executor's. Between them they keep two executors from running one shard.

pub mod action;
pub mod capacity;
pub mod duration;
pub mod event;
mod executor;
pub mod handover;
pub mod holder;
pub mod ids;
mod journal;
mod key_index;
pub mod leadership;
mod measured;
pub mod message;
pub mod namespace;
pub mod record;
pub mod settings;
mod shard;
pub mod stats;

pub use executor::{ADDRESS_LABEL, Labels, VERSION_LABEL};
