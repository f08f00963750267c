//! A socket that is read along: what comes in is shown to a [`Tap`], what goes out
//! passes untouched.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Is shown what comes in.
pub(crate) trait Tap {
    fn read(&mut self, bytes: &[u8]);
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Tapped<T> {
    stream: TcpStream,
    tap: T,
}

// === impl Tapped ===

impl<T> Tapped<T> {
    pub(crate) fn new(stream: TcpStream, tap: T) -> Self {
        Self { stream, tap }
    }

    pub(crate) fn tap(&mut self) -> &mut T {
        &mut self.tap
    }
}

impl<T: Tap + Unpin> AsyncRead for Tapped<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.tap.read(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: Unpin> AsyncWrite for Tapped<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
