use std::time::Duration;

use claimstream_domain::{Due, Invalid, QueueName, RetryPolicy};

/// How a coordinator drives global transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoordinatorConfig {
    /// The outbox queue of its messages, `tcc` by default. Coordinators that know different participants have
    /// queues of their own.
    pub queue: QueueName,
    /// How long a transaction may be undecided; then it is cancelled. 60 s by default.
    pub deadline: Duration,
    /// Where alarms are enqueued, each a [`TccAlarm`](super::TccAlarm) about a participant that does not carry out a decision;
    /// the queue `tcc-alarms` by default.
    pub alarms: QueueName,
    /// After how many deliveries of one message a participant that still fails is an alarm; 10.
    pub alarm_after: u32,
    /// After which waits a call that failed is made again: 1 s doubled up to 60 s, without an end by default.
    /// The pipeline gets this policy; one that gives up leaves reservations to people.
    pub retry: RetryPolicy,
}

impl CoordinatorConfig {
    /// The queue of a coordinator without another setting.
    pub const QUEUE: &str = "tcc";

    /// The queue of its alarms.
    pub const ALARMS: &str = "tcc-alarms";

    /// Refuses a deadline of nothing or without an end, an alarm before the first delivery, and a policy that could never run.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.deadline.is_zero() || self.deadline > Due::MAX_DELAY {
            return Err(Invalid::OutOfRange {
                what: "TCC deadline",
                given: format!("{:?}", self.deadline),
                allowed: "longer than zero and at most a hundred years".into(),
            });
        }
        if self.alarm_after == 0 {
            return Err(Invalid::OutOfRange {
                what: "alarm_after",
                given: "0".into(),
                allowed: "at least 1".into(),
            });
        }
        self.retry.check()
    }
}

impl Default for CoordinatorConfig {
    fn default() -> Self {
        let retry = RetryPolicy {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(60),
            max_attempts: u32::MAX,
            ..RetryPolicy::default()
        };
        let queue = QueueName::new(Self::QUEUE).expect("the constant is a valid queue name");
        let alarms = QueueName::new(Self::ALARMS).expect("the constant is a valid queue name");
        Self { queue, deadline: Duration::from_secs(60), alarms, alarm_after: 10, retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_deadline_of_nothing_and_retries_for_ever() {
        let good = CoordinatorConfig::default();
        assert!(good.check().is_ok() && !good.retry.is_last(u32::MAX - 1));
        for deadline in [Duration::ZERO, Duration::MAX] {
            assert!(CoordinatorConfig { deadline, ..good.clone() }.check().is_err());
        }
        assert!(CoordinatorConfig { alarm_after: 0, ..good.clone() }.check().is_err());
        let retry = RetryPolicy { max_attempts: 0, ..RetryPolicy::default() };
        assert!(CoordinatorConfig { retry, ..good }.check().is_err());
    }
}
