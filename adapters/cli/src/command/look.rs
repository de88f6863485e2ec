use std::{collections::HashMap, time::Duration};

use claimstream_domain::{PausedQueue, QueueName, QueueStatus};
use claimstream_ports::{Observe, PauseQueues, StoreError, Timer};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use serde_json::{Map, Value, json};

use super::pause;
use crate::{
    age::Age,
    moments::Moments,
    table::{Column, Table},
};

/// How the queues stand, and how they stood before.
#[derive(Default)]
pub(super) struct Look {
    queues: Vec<QueueStatus>,
    paused: Vec<PausedQueue>,
    /// When they stood so, by the store's clock.
    at: Option<Moments>,
    /// When that was, by the program's timer.
    taken: Option<Duration>,
    /// The depth of each queue before, and how long ago that was.
    before: Option<(HashMap<QueueName, u64>, Duration)>,
}

impl Look {
    pub(super) async fn take(&mut self, outbox: &SeaOrmOutbox, timer: TokioTimer) -> Result<(), StoreError> {
        let paused = outbox.paused().await?;
        let queues = with_paused(outbox.observe().await?, &paused);
        let at = Moments::of(outbox).await?;
        let now = timer.now();
        if let Some(taken) = self.taken.replace(now) {
            let known = self.queues.iter().map(|it| (it.queue.clone(), it.depth));
            self.before = Some((known.collect(), now - taken));
        }
        (self.queues, self.paused, self.at) = (queues, paused, Some(at));
        Ok(())
    }

    /// By how many messages a second the queue has grown since the look before; `None` at the first one.
    fn growth(&self, status: &QueueStatus) -> Option<f64> {
        let (before, ago) = self.before.as_ref()?;
        let depth = before.get(&status.queue).copied().unwrap_or_default();
        rate(depth, status.depth, *ago)
    }

    fn pause_of(&self, queue: &QueueName) -> Option<&PausedQueue> {
        self.paused.iter().find(|paused| paused.queue == *queue)
    }

    pub(super) fn now(&self) -> String {
        self.at.map(Moments::now).unwrap_or_default()
    }

    /// A table, and a line for each queue of which there is more to say.
    pub(super) fn text(&self) -> String {
        match self.queues.is_empty() {
            true => "all queues are empty\n".into(),
            false => format!("{}{}", self.table(), self.remarks()),
        }
    }

    /// The fields of the object.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let queues: Vec<Value> = self.queues.iter().map(|status| self.as_value(status)).collect();
        Map::from_iter([("observed_at".to_owned(), self.now().into()), ("queues".to_owned(), queues.into())])
    }

    /// How many messages the queues hold, dead letters apart; and how many dead letters there are.
    pub(super) fn held(&self) -> (u64, u64) {
        let sum = |count: fn(&QueueStatus) -> u64| self.queues.iter().map(count).sum();
        (sum(|status| status.depth), sum(|status| status.dead))
    }

    /// A line for each queue that is paused, or has messages that no consumer claims.
    fn remarks(&self) -> String {
        let of = |status: &QueueStatus| {
            let (queue, stray) = (&status.queue, status.stray);
            let paused = self.pause_of(queue).map(|paused| format!("{}\n", pause::remark(paused)));
            let unclaimed = match (stray, status.seems_unread() && paused.is_none()) {
                (0, false) => String::new(),
                (0, true) => format!("{queue}: no relay seems to read this queue; see doctor\n"),
                _ => format!("{queue}: {stray} messages lie in shards that no relay reads; see doctor\n"),
            };
            paused.unwrap_or_default() + &unclaimed
        };
        self.queues.iter().map(of).collect()
    }

    fn as_value(&self, status: &QueueStatus) -> Value {
        let paused = self.pause_of(&status.queue);
        let mut value = as_value(status, self.growth(status));
        value["seems_unread"] = (status.seems_unread() && paused.is_none()).into();
        for (name, field) in self.at.iter().flat_map(|moments| pause::fields(paused, *moments)) {
            value[name] = field;
        }
        value
    }
}

/// By how much a number has grown in a second.
fn rate(before: u64, now: u64, within: Duration) -> Option<f64> {
    let seconds = within.as_secs_f64();
    (seconds > 0.0).then(|| (now as f64 - before as f64) / seconds)
}

/// The queues, and with them those that are paused and hold nothing.
fn with_paused(mut queues: Vec<QueueStatus>, paused: &[PausedQueue]) -> Vec<QueueStatus> {
    for PausedQueue { queue, .. } in paused {
        if !queues.iter().any(|status| status.queue == *queue) {
            let queue = queue.clone();
            queues.push(QueueStatus {
                queue,
                depth: 0,
                due: 0,
                leased: 0,
                retrying: 0,
                oldest: None,
                dead: 0,
                stray: 0,
            });
        }
    }
    queues.sort_by(|one, other| one.queue.cmp(&other.queue));
    queues
}

impl Look {
    /// The growth has a column in a watch only.
    fn table(&self) -> String {
        let number = Column::Number;
        let columns = [
            Column::Text("QUEUE"),
            number("DEPTH"),
            number("DUE"),
            number("SCHEDULED"),
            number("RETRYING"),
            number("LEASED"),
            number("LAG"),
            number("DEAD"),
        ];
        let cells = |status: &QueueStatus| {
            [
                status.queue.to_string(),
                status.depth.to_string(),
                status.due.to_string(),
                status.scheduled().to_string(),
                status.retrying.to_string(),
                status.leased.to_string(),
                status.oldest.map_or_else(|| "-".into(), |oldest| Age(oldest).to_string()),
                status.dead.to_string(),
            ]
        };
        if self.before.is_none() {
            let mut table = Table::new(columns);
            self.queues.iter().for_each(|status| table.row(cells(status)));
            return table.to_string();
        }
        let [queue, depth, rest @ ..] = columns;
        let [c, d, e, f, g, h] = rest;
        let mut table = Table::new([queue, depth, number("GROWTH/S"), c, d, e, f, g, h]);
        for status in &self.queues {
            let growth = self.growth(status).map_or_else(String::new, |growth| format!("{growth:+.1}"));
            let [queue, depth, c, d, e, f, g, h] = cells(status);
            table.row([queue, depth, growth, c, d, e, f, g, h]);
        }
        table.to_string()
    }
}

fn as_value(status: &QueueStatus, growth: Option<f64>) -> Value {
    json!({
        "queue": status.queue.as_str(),
        "depth": status.depth,
        "growth_per_second": growth,
        "due": status.due,
        "scheduled": status.scheduled(),
        "retrying": status.retrying,
        "leased": status.leased,
        "oldest_seconds": status.oldest.map(|oldest| oldest.as_secs_f64()),
        "dead": status.dead,
        "stray": status.stray,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_grows_or_shrinks_by_so_many_a_second() {
        let two = Duration::from_secs(2);
        assert_eq!(rate(10, 14, two), Some(2.0));
        assert_eq!(rate(10, 0, two), Some(-5.0));
        assert_eq!(rate(10, 14, Duration::ZERO), None);
    }
}
