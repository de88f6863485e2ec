use std::{
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream to an SMTP server whose replies are ASCII: each other byte of a reply is read as `?`.
pub(super) struct AsciiReplies<S> {
    stream: S,
    /// What is read before anything of the server.
    first: &'static [u8],
}

/// A stream whose other end has an address.
pub(super) trait HasPeer {
    /// The address.
    fn peer(&self) -> io::Result<SocketAddr>;
}

impl<S> AsciiReplies<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, first: b"" }
    }

    /// A stream whose greeting was read before it was encrypted: one is read again, because lettre waits for it.
    #[cfg(feature = "tls")]
    pub(super) fn greeting(stream: S) -> Self {
        Self { stream, first: b"220 encrypted\r\n" }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AsciiReplies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let (now, later) = self.first.split_at(self.first.len().min(buffer.remaining()));
            buffer.put_slice(now);
            self.first = later;
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let replies = buffer.filled_mut()[before..].iter_mut();
        replies.filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AsciiReplies<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> fmt::Debug for AsciiReplies<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AsciiReplies")
    }
}

impl<S: AsyncRead + AsyncWrite + HasPeer + Send + Sync + Unpin> AsyncTokioStream for AsciiReplies<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer()
    }
}

impl HasPeer for tokio::net::TcpStream {
    fn peer(&self) -> io::Result<SocketAddr> {
        self.peer_addr()
    }
}
