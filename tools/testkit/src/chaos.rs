//! What it takes to break a whole system from outside: real processes that are
//! killed, stopped and starved, links between them that are cut and slowed, and
//! one clock that all of them read.
//!
//! Nothing here knows what ought to happen: that is for whoever breaks.

mod clock;
mod etcd;
mod process;
mod relay;

pub use clock::Moment;
pub use etcd::{EtcdMember, start_etcd};
pub use process::Process;
pub use relay::{Flow, LinkState, Relay};
