use std::time::Duration;

/// How much a server takes on at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The longest body, in bytes; 256 KiB by default.
    pub body: usize,
    /// The longest body of receipts, in bytes, as providers send many at a time; 1 MiB by default.
    pub receipts: usize,
    /// How long a body may take to arrive, how long the database may take for an answer, and how long a client may take nothing of it; 10 s
    /// by default.
    pub timeout: Duration,
    /// The most requests that are worked on at a time; further ones are refused with 503. 2,048 by default.
    pub concurrency: usize,
    /// The most connections; further ones wait to be accepted. 4,096 by default.
    pub connections: usize,
    /// The most that wait for new entries of inboxes; further ones are refused with 503. 1,000 by default.
    pub listeners: usize,
    /// How long a connection may be idle, or take for the head of a request; 75 s by default.
    pub idle: Duration,
    /// The most notification requests that wait for a transaction; further ones are refused with 503. 1,024 by default.
    pub queue: usize,
    /// How many transactions take requests in at the same time; 2 by default.
    pub writers: usize,
    /// How long requests that were accepted may take after the signal to stop; 20 s by default.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 256 * 1024,
            receipts: 1024 * 1024,
            timeout: Duration::from_secs(10),
            concurrency: 2_048,
            connections: 4_096,
            listeners: 1_000,
            idle: Duration::from_secs(75),
            queue: 1_024,
            writers: 2,
            drain: Duration::from_secs(20),
        }
    }
}
