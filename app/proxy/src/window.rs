//! Sizes of HTTP/2 that both sides of the proxy use.
//!
//! Fixed on purpose: hyper's adaptive window starts at 64 KiB, and since h2 0.4.16
//! bounds small frames by half of the window, some hundred small gRPC requests at
//! once would cost the connection.

/// What may be on its way on one stream, in bytes.
pub(crate) const STREAM: u32 = 1 << 20;
/// And on all streams of a connection together.
pub(crate) const CONNECTION: u32 = 16 << 20;
/// The largest head of an answer, in bytes.
pub(crate) const ANSWER_HEAD: u32 = 1 << 20;
