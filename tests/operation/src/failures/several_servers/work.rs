use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use claimstream::Compose;
use claimstream_domain::{Claimed, MessageId, NewMessage, QueueName, Verdict};
use claimstream_ports::Handler;
use claimstream_sea_orm::SeaOrmOutbox;
use tokio::sync::watch;

use super::TIMEOUT;

/// What was taken in and what was handled, each with its moment.
#[derive(Clone, Default)]
pub(super) struct Work(Arc<Mutex<Done>>);

#[derive(Default)]
struct Done {
    accepted: Vec<(MessageId, Instant)>,
    handled: Vec<(MessageId, Instant)>,
}

impl Work {
    fn done(&self) -> MutexGuard<'_, Done> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn accepted(&self) -> Vec<MessageId> {
        self.done().accepted.iter().map(|(id, _)| *id).collect()
    }

    /// Enqueues message after message; an error loses no message.
    pub(super) async fn produce(
        &self,
        outbox: &SeaOrmOutbox,
        queue: &QueueName,
        stopped: watch::Receiver<bool>,
    ) {
        while !*stopped.borrow() {
            let message = NewMessage::json(queue.clone(), &"a message").expect("a message");
            let id = message.id;
            if outbox.enqueue_now(&[message]).await.is_ok() {
                self.done().accepted.push((id, Instant::now()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How long after `since` a message was taken in, and one handled that was taken in afterwards.
    pub(super) async fn goes_on_since(&self, since: Instant) -> [Duration; 2] {
        let began = Instant::now();
        while began.elapsed() < TIMEOUT {
            {
                let done = self.done();
                let first = done.accepted.iter().map(|(_, at)| *at).find(|at| *at > since);
                let newer: HashSet<MessageId> =
                    done.accepted.iter().filter(|(_, at)| *at > since).map(|(id, _)| *id).collect();
                let handled = done.handled.iter().find(|(id, _)| newer.contains(id)).map(|(_, at)| *at);
                if let (Some(first), Some(handled)) = (first, handled) {
                    return [first - since, handled - since];
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        [TIMEOUT; 2]
    }

    pub(super) async fn all_handled(&self) {
        let began = Instant::now();
        loop {
            let lost = {
                let done = self.done();
                let handled: HashSet<MessageId> = done.handled.iter().map(|(id, _)| *id).collect();
                done.accepted.iter().filter(|(id, _)| !handled.contains(id)).count()
            };
            if lost == 0 {
                return;
            }
            assert!(began.elapsed() < TIMEOUT, "{lost} messages that were taken in are lost");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[async_trait]
impl Handler for Work {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        self.done().handled.push((claimed.message.id, Instant::now()));
        Verdict::ack()
    }
}
