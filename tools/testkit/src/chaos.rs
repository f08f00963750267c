//! What it takes to break a whole system from outside: real processes that are
//! killed, stopped and starved, links between them that are cut and slowed, and
//! one clock that all of them read.
//!
//! Nothing here knows what ought to happen: that is for whoever breaks.

mod clock;
mod disk;
mod etcd;
mod network;
mod process;
mod relay;

pub use clock::Moment;
pub use disk::Disk;
pub use etcd::{EtcdMember, MemberPlace, start_etcd};
pub use network::{Fate, Fates, Network, alone, attempt};
pub use process::Process;
pub use relay::{Flow, LinkState, Relay};
