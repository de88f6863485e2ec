use std::{
    io::{Error, ErrorKind, IoSlice, Result},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use claimstream_ports::{Sleep, Timer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A connection that fails when the other side takes nothing of an answer for a while.
pub(crate) struct Stalling {
    stream: TcpStream,
    timeout: Duration,
    timer: Arc<dyn Timer>,
    /// Runs while a write waits for the other side to read.
    waiting: Option<Sleep<'static>>,
}

impl Stalling {
    pub(crate) fn new(stream: TcpStream, timeout: Duration, timer: Arc<dyn Timer>) -> Self {
        Self { stream, timeout, timer, waiting: None }
    }

    /// Passes on what a write came to, and ends one that has waited for too long.
    fn within<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let (timeout, timer) = (self.timeout, &self.timer);
        let wait = || -> Sleep<'static> {
            let timer = Arc::clone(timer);
            Box::pin(async move { timer.sleep(timeout).await })
        };
        ready!(self.waiting.get_or_insert_with(wait).as_mut().poll(cx));
        self.waiting = None;
        let why = format!("the client took nothing of its answer for {timeout:?}");
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, why)))
    }
}

impl AsyncRead for Stalling {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.within(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.within(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
