use std::time::Duration;

use claimstream_domain::{ByteBudget, ClaimRequest, Invalid, Lease, Pacing, QueueName, RetryPolicy};

/// How a relay claims, holds and settles.
///
/// Every field can be set by itself over the defaults:
///
/// ```
/// use claimstream::{Lease, RelayConfig};
/// # use std::time::Duration;
///
/// let config = RelayConfig { lease: Lease::new(Duration::from_secs(60))?, batch: 50, ..RelayConfig::default() };
/// config.check()?;
/// # Ok::<(), claimstream::Invalid>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelayConfig {
    /// The most messages asked for in one claim; 100, at most 10,000.
    pub batch: u32,
    /// The most messages that one stream has leased and not yet settled; 200. Under `shard_lease` the outbox may lease some
    /// more ahead of it.
    ///
    /// A consumer must get through that many within a lease, or what waits too long is given back untried. Where handlers
    /// are done at once, eight batches are the fastest under `shard_lease`: it reads four ahead while four are settled.
    pub prefetch: u32,
    /// The most bytes of payloads that one stream has leased and not yet settled; 64 MiB. One message more may pass, whatever it
    /// weighs. Under `shard_lease` the outbox may lease one MiB more ahead of it.
    pub prefetch_bytes: ByteBudget,
    /// How long a claim lasts; 30 s.
    pub lease: Lease,
    /// How claims are spaced; 20 ms to 5 s while there is nothing to claim. So a new message waits for an idle relay for 2 s on
    /// average and 5 s at most, unless the relay has a [`Wakeup`](claimstream_ports::Wakeup) that is rung for it.
    pub pacing: Pacing,
    /// How often and after which waits a failed message is tried again.
    pub retry: RetryPolicy,
    /// The most settlements written in one call; 100, at most 10,000.
    pub settle_batch: u32,
    /// The longest that a settlement waits for others to be written with; 10 ms.
    pub settle_age: Duration,
    /// How long a pipeline's handler may take for one message, or for one batch; 10 minutes. One that takes longer is dropped at its next
    /// `await`, and the attempt has failed. Without it a handler that hangs would keep its message for ever, because its
    /// lease is renewed while it runs. `Duration::MAX` sets no limit, which
    /// an `Inbox` of `claimstream-steps` refuses.
    ///
    /// A handler that blocks its thread cannot be stopped. A plain stream ignores this setting.
    pub handle_timeout: Duration,
    /// How long running handlers may take to finish once a pipeline has been asked to stop; 30 s. At most 2 s after that the
    /// pipeline has ended, written or not: what the store has not taken by then comes back when its leases end.
    pub drain: Duration,
    /// The queue into which an event goes for each dead letter, in the transaction that buries it, as the JSON of a
    /// [`DeadLetterEvent`](crate::report::DeadLetterEvent); none, because events without a reader would pile up. Dead letters of
    /// that queue itself have no event, and neither has an event that dies in the hands of another relay.
    pub dead_letter_events: Option<QueueName>,
    /// How many handlers a pipeline runs at once, no more than `prefetch`; 32. A plain stream and a pipeline of batches ignore this
    /// setting.
    pub concurrency: u32,
}

impl RelayConfig {
    /// Refuses settings that could never work, and names the one to mend.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_stream()?;
        self.check_concurrency(self.concurrency)
    }

    /// Refuses settings with which a stream could never work.
    pub(crate) fn check_stream(&self) -> Result<(), Invalid> {
        within_a_statement("batch", self.batch)?;
        at_least_one("prefetch", self.prefetch)?;
        within_a_statement("settle_batch", self.settle_batch)?;
        self.pacing.check()?;
        self.retry.check()?;
        if self.handle_timeout.is_zero() {
            return Err(Invalid::OutOfRange {
                what: "handle_timeout",
                given: "zero".into(),
                allowed: "longer than zero".into(),
            });
        }
        let longest = self.lease.renew_after();
        if self.settle_age >= longest {
            return Err(Invalid::OutOfRange {
                what: "settle_age",
                given: format!("{:?}", self.settle_age),
                allowed: format!("shorter than a third of the lease, {longest:?}"),
            });
        }
        Ok(())
    }

    /// Refuses to run no handler at all, or more at once than there can be messages.
    pub(crate) fn check_concurrency(&self, concurrency: u32) -> Result<(), Invalid> {
        self.check_within_prefetch("concurrency", concurrency)
    }

    /// Refuses none at all, and more than there can be messages.
    pub(crate) fn check_within_prefetch(&self, what: &'static str, given: u32) -> Result<(), Invalid> {
        at_least_one(what, given)?;
        if given > self.prefetch {
            return Err(Invalid::OutOfRange {
                what,
                given: given.to_string(),
                allowed: format!(
                    "at most {}, the prefetch: no more messages than that are held for handlers at a time",
                    self.prefetch
                ),
            });
        }
        Ok(())
    }
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            batch: 100,
            prefetch: 200,
            prefetch_bytes: ByteBudget::default(),
            lease: Lease::default(),
            pacing: Pacing::default(),
            retry: RetryPolicy::default(),
            settle_batch: 100,
            settle_age: Duration::from_millis(10),
            handle_timeout: Duration::from_secs(600),
            drain: Duration::from_secs(30),
            dead_letter_events: None,
            concurrency: 32,
        }
    }
}

fn at_least_one(what: &'static str, given: u32) -> Result<(), Invalid> {
    if given >= 1 {
        return Ok(());
    }
    Err(Invalid::OutOfRange { what, given: given.to_string(), allowed: "at least 1".into() })
}

/// Refuses more messages than a statement can name.
fn within_a_statement(what: &'static str, given: u32) -> Result<(), Invalid> {
    at_least_one(what, given)?;
    if given <= ClaimRequest::MOST {
        return Ok(());
    }
    let allowed = format!("at most {}: no statement of a database could name more", ClaimRequest::MOST);
    Err(Invalid::OutOfRange { what, given: given.to_string(), allowed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_may_hold_less_than_a_pipeline_would_handle_at_once() {
        let config = RelayConfig { prefetch: 1, ..RelayConfig::default() };
        assert_eq!(config.check_stream(), Ok(()));
        let refused = config.check().unwrap_err().to_string();
        assert!(refused.starts_with("concurrency is 32, it must be at most 1, the prefetch"), "{refused}");
    }

    #[test]
    fn refuses_what_could_never_work() {
        let good = RelayConfig::default();
        assert_eq!(good.check(), Ok(()));
        let bad = [
            RelayConfig { batch: 0, ..good.clone() },
            RelayConfig { prefetch: 0, ..good.clone() },
            RelayConfig { settle_batch: 0, ..good.clone() },
            RelayConfig { batch: 33_000, ..good.clone() },
            RelayConfig { settle_batch: 10_001, ..good.clone() },
            RelayConfig { concurrency: 0, ..good.clone() },
            RelayConfig { concurrency: 201, ..good.clone() },
            RelayConfig { prefetch: 31, ..good.clone() },
            RelayConfig { settle_age: Duration::from_secs(10), ..good.clone() },
            RelayConfig { handle_timeout: Duration::ZERO, ..good.clone() },
            RelayConfig { pacing: Pacing { idle_min: Duration::ZERO, ..Pacing::default() }, ..good.clone() },
            RelayConfig { retry: RetryPolicy { max_attempts: 0, ..RetryPolicy::default() }, ..good },
        ];
        for config in bad {
            assert!(matches!(config.check(), Err(Invalid::OutOfRange { .. })), "{config:?}");
        }
    }
}
