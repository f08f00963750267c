//! Several servers on a real etcd: any server answers any client, and nothing is lost
//! when one of them, or etcd, dies, hangs or goes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod answers;
mod deaths;
mod etcd;
mod executor;
mod figures;
mod fleet;
mod handed;
mod leaderships;
mod policies;
mod process;
mod returning;
mod tls;
