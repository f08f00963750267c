//! The overload experiments, which bring their own runtimes.

pub(crate) use plimsoll_overload::sockets::server::{Options as ServerOptions, serve};
pub(crate) use plimsoll_overload::{Options, run};
