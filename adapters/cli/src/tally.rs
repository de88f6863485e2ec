use std::{
    collections::BTreeMap,
    convert::Infallible,
    mem::take,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::QueueName;
use claimstream_ports::{Measured, SettledAs, Telemetry, Timer};
use claimstream_tokio::TokioTimer;

use crate::config::DatabaseName;

/// Counts what relays claim and settle, for one line of the log for each queue and minute: a line for each message is at `debug`.
#[derive(Debug)]
pub(crate) struct Tally {
    timer: TokioTimer,
    span: Mutex<Span>,
    /// Of which of several databases the queues are.
    database: Option<DatabaseName>,
}

/// What was counted since a moment.
#[derive(Debug)]
struct Span {
    /// By the timer.
    since: Duration,
    queues: BTreeMap<QueueName, Counts>,
}

/// What became of the messages of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts {
    claimed: usize,
    done: usize,
    retried: usize,
    postponed: usize,
    dead: usize,
    returned: usize,
    superseded: usize,
}

impl Tally {
    /// For one of several databases, or for the only one.
    pub(crate) fn of(database: Option<DatabaseName>, timer: TokioTimer) -> Self {
        let span = Mutex::new(Span { since: timer.now(), queues: BTreeMap::new() });
        Self { timer, span, database }
    }

    const EVERY: Duration = Duration::from_secs(60);

    /// A telemetry that counts here, and records in the other one if there is one.
    pub(crate) fn and(self: &Arc<Self>, other: Option<Arc<dyn Telemetry>>) -> Arc<dyn Telemetry> {
        let own: Arc<dyn Telemetry> = Arc::clone(self) as _;
        match other {
            Some(other) => Arc::new(vec![own, other]),
            None => own,
        }
    }

    /// Logs what was counted since the last time, for as long as it is polled.
    pub(crate) async fn log_regularly(&self) -> Infallible {
        loop {
            self.timer.sleep(Self::EVERY).await;
            self.log();
        }
    }

    /// Logs what was counted since the last time; nothing for a queue where nothing happened.
    pub(crate) fn log(&self) {
        let (seconds, queues) = self.take();
        let database = self.database.as_ref().map(DatabaseName::as_str);
        for (queue, counts) in queues {
            let Counts { claimed, done, retried, postponed, dead, returned, superseded } = counts;
            tracing::info!(
                database, %queue, seconds, claimed, done, retried, postponed, dead, returned, superseded, "relay at work"
            );
        }
    }

    fn take(&self) -> (f64, BTreeMap<QueueName, Counts>) {
        let mut span = self.span.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.timer.now();
        let seconds = ((now - span.since).as_secs_f64() * 1_000.0).round() / 1_000.0;
        span.since = now;
        (seconds, take(&mut span.queues))
    }

    fn add(&self, queue: &QueueName, messages: usize, count: fn(&mut Counts) -> &mut usize) {
        if messages > 0 {
            let mut span = self.span.lock().unwrap_or_else(PoisonError::into_inner);
            match span.queues.get_mut(queue) {
                Some(counts) => *count(counts) += messages,
                None => *count(span.queues.entry(queue.clone()).or_default()) += messages,
            }
        }
    }
}

impl Telemetry for Tally {
    fn record(&self, measured: Measured<'_>) {
        match measured {
            Measured::Claimed { queue, messages, .. } => self.add(queue, messages, |all| &mut all.claimed),
            Measured::Settled { queue, outcome, messages } => self.add(
                queue,
                messages,
                match outcome {
                    SettledAs::Done => |all| &mut all.done,
                    SettledAs::Retried => |all| &mut all.retried,
                    SettledAs::Postponed => |all| &mut all.postponed,
                    SettledAs::Dead => |all| &mut all.dead,
                    SettledAs::Returned => |all| &mut all.returned,
                    SettledAs::Superseded => |all| &mut all.superseded,
                },
            ),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_queue_and_begins_at_zero_after_a_look() {
        let (orders, mails) = (QueueName::new("orders").unwrap(), QueueName::new("mails").unwrap());
        let tally = Arc::new(Tally::of(None, TokioTimer::new()));
        let telemetry = tally.and(Some(Arc::new(Vec::<Arc<dyn Telemetry>>::new())));
        let settled = |queue, outcome, messages| Measured::Settled { queue, outcome, messages };
        telemetry.record(Measured::Claimed { queue: &orders, messages: 3, took: Duration::ZERO });
        telemetry.record(Measured::Claimed { queue: &mails, messages: 0, took: Duration::ZERO });
        telemetry.record(settled(&orders, SettledAs::Done, 2));
        telemetry.record(settled(&orders, SettledAs::Retried, 1));
        let counts = Counts { claimed: 3, done: 2, retried: 1, ..Counts::default() };
        assert_eq!(tally.take().1, BTreeMap::from([(orders.clone(), counts)]));
        telemetry.record(settled(&mails, SettledAs::Dead, 1));
        let counts = Counts { dead: 1, ..Counts::default() };
        assert_eq!(tally.take().1, BTreeMap::from([(mails, counts)]));
    }
}
