//! Conversions that more than one side of the wire needs. They copy and rename;
//! whether a value makes sense is for the core to say.

mod handover;
mod routing;

pub use handover::NotUnderstood;
