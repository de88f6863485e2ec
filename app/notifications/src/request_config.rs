use std::time::Duration;

use claimstream_domain::{Invalid, RetryPolicy};

/// How requests are fanned out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestConfig {
    /// The most recipients handled at a time, 1 to 10 000; each makes up to one message for each channel, all
    /// enqueued in one transaction. 1 000 by default, and fewer where the messages are long: about 16 MiB go together.
    pub chunk: u32,
    /// How often and after which waits a chunk is tried again: 30 s doubled up to 1800 s, 6 attempts. The pipeline gets
    /// [`pipeline_retry`](Self::pipeline_retry).
    pub retry: RetryPolicy,
}

impl RequestConfig {
    /// The largest chunk.
    pub const MAX_CHUNK: u32 = 10_000;

    /// Refuses a chunk outside its range and a policy that could never run.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=Self::MAX_CHUNK).contains(&self.chunk) {
            return Err(Invalid::OutOfRange {
                what: "notification chunk",
                given: self.chunk.to_string(),
                allowed: format!("1 to {} recipients", Self::MAX_CHUNK),
            });
        }
        self.retry.check()
    }

    /// The retry policy to give to the pipeline: [`retry`](Self::retry) and one attempt more, which does nothing but
    /// close a request whose last attempt was cut off, as by a crash, or could not be recorded.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        self.retry.with_one_more_attempt()
    }
}

impl Default for RequestConfig {
    fn default() -> Self {
        let retry = RetryPolicy {
            base: Duration::from_secs(30),
            cap: Duration::from_secs(1_800),
            max_attempts: 6,
            ..RetryPolicy::default()
        };
        Self { chunk: 1_000, retry }
    }
}
