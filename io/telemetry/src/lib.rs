//! What is said about the running system: names of metrics and logging.
//!
//! The cores return reasons and never record them; shells record them under the
//! names that stand here.

pub mod logging;
pub mod names;
