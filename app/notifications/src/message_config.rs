use std::time::Duration;

use claimstream_domain::{Invalid, RetryPolicy};

/// How messages are delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageConfig {
    /// How often and after which waits a message is tried again: 30 s doubled up to 18 000 s, 11 attempts. The pipeline
    /// gets [`pipeline_retry`](Self::pipeline_retry).
    pub retry: RetryPolicy,
}

impl MessageConfig {
    /// Refuses a policy that could never run.
    pub fn check(&self) -> Result<(), Invalid> {
        self.retry.check()
    }

    /// The retry policy to give to the pipeline: [`retry`](Self::retry) and one attempt more, which does nothing but
    /// note a message as failed whose last attempt was cut off, as by a crash, or could not be noted.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        self.retry.with_one_more_attempt()
    }
}

impl Default for MessageConfig {
    fn default() -> Self {
        let retry = RetryPolicy {
            base: Duration::from_secs(30),
            cap: Duration::from_secs(18_000),
            max_attempts: 11,
            ..RetryPolicy::default()
        };
        Self { retry }
    }
}
