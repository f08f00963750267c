//! Overload experiments: our shedder and others on the same service and the same
//! arrivals, everything as a factor of the capacity that was just measured.

pub mod capacity;
pub mod case;
pub mod experiments;
pub mod goal;
pub mod io;
pub mod load;
pub mod options;
pub mod ours;
pub mod outcome;
pub mod record;
pub mod report;
mod run;
pub mod schedule;
pub mod shedders;
pub mod sockets;
pub mod stats;

pub use options::Options;
pub use run::run;
