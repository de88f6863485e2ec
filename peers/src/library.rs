use std::ops::Range;

use async_trait::async_trait;

use crate::{Failure, job::Job, server::Server};

/// A library in one of its configurations, behind what the benchmark asks of it.
#[async_trait]
pub(crate) trait Library: Send + Sync {
    /// Makes its tables; what was in them is gone.
    async fn make_tables(&self, server: &Server) -> Result<(), Failure>;

    /// So many senders, connected, each to be used beside the others.
    async fn senders(&self, server: &Server, count: usize) -> Result<Vec<Box<dyn Sender>>, Failure>;

    /// One application instance, connected, that does not work yet.
    async fn worker(&self, server: &Server, job: &Job) -> Result<Box<dyn Worker>, Failure>;

    /// A query that has a row as long as a message is not acknowledged.
    fn left(&self) -> &'static str;
}

/// Puts messages into the library's tables.
#[async_trait]
pub(crate) trait Sender: Send {
    /// Sends these numbers in one transaction, with as many bytes each.
    async fn send(&mut self, numbers: Range<u64>, payload: usize) -> Result<(), Failure>;
}

/// An application instance whose handler writes what it is given into the ledger and does nothing else.
#[async_trait]
pub(crate) trait Worker: Send {
    /// From here on messages are handled in the background.
    async fn start(&mut self) -> Result<(), Failure>;
}
