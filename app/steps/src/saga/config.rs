use std::time::Duration;

use claimstream_domain::{Invalid, QueueName, RetryPolicy, saga::Unbegun};

/// When sagas are looked at again, and where alarms go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SagaConfig {
    /// How long after its first row a saga is looked at, whatever became of its runner; 60 s. Longer than a run
    /// takes, or checks and runners do the same work twice.
    pub check_after: Duration,
    /// What becomes of a saga of which the check finds no step; it is run.
    pub unbegun: Unbegun,
    /// Where alarms are enqueued, in the saga's home; the queue `saga-alarms`.
    pub alarms: QueueName,
    /// After how many deliveries of one message a saga that is still under way is an alarm; 10.
    pub alarm_after: u32,
    /// The waits between deliveries. Its number of attempts is ignored, because a saga is never given up.
    pub retry: RetryPolicy,
}

impl SagaConfig {
    /// Refuses settings that could never work.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.alarm_after == 0 {
            return Err(Invalid::OutOfRange {
                what: "alarm_after",
                given: "0".into(),
                allowed: "at least 1".into(),
            });
        }
        self.retry.check()
    }

    /// What the pipeline of the saga's queue must have as its retry policy: the waits, and no last attempt.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        RetryPolicy { max_attempts: u32::MAX, ..self.retry.clone() }
    }
}

impl Default for SagaConfig {
    fn default() -> Self {
        Self {
            check_after: Duration::from_secs(60),
            unbegun: Unbegun::default(),
            alarms: QueueName::new("saga-alarms").expect("the literal is a valid queue name"),
            alarm_after: 10,
            retry: RetryPolicy::default(),
        }
    }
}
