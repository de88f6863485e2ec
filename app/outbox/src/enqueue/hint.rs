use async_trait::async_trait;
use claimstream_domain::{Due, Enqueued, NewMessage, QueueName};
use claimstream_ports::{Enqueue, StoreError, Wakeup};
use futures::future::join_all;

/// What idle relays are notified of once the transaction has committed: which queues have something new that is due.
///
/// It is fired by [`wake`](Self::wake) after the commit; a caller that rolls back drops it. One that is never fired costs
/// nothing but time: the messages are found when the relays look next.
#[must_use = "relays of this process look at once only if it is woken with after the commit"]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    enqueued: Vec<Enqueued>,
    queues: Vec<QueueName>,
}

impl Hint {
    /// The hint that follows from a call that enqueued `messages` and was answered with `enqueued`, one for each; for the
    /// calls of a store that are not those of the port.
    pub fn of(messages: &[NewMessage], enqueued: Vec<Enqueued>) -> Self {
        let new = messages.iter().zip(&enqueued).filter(|(_, answer)| **answer == Enqueued::New);
        let queues = awaited(new.map(|(message, _)| message));
        Self { queues, enqueued }
    }

    /// What became of each message, in order.
    pub fn enqueued(&self) -> &[Enqueued] {
        &self.enqueued
    }

    /// Lets relays that are idle look at once; call it after the commit.
    ///
    /// A wakeup that fails is traced at the level `debug` and is no error: the messages are found all the same.
    pub async fn wake(self, wakeup: &dyn Wakeup) {
        wake_all(wakeup, &self.queues).await;
    }
}

/// Enqueues like [`Enqueue`] and answers with a [`Hint`], for services with relays in the same process.
///
/// ```
/// # use std::sync::Arc;
/// use claimstream::{Compose, EnqueueHinted, LocalWakeup, NewMessage, Relay, RelayConfig};
/// # use claimstream_memory::MemoryStore;
/// # use claimstream_tokio::TokioTimer;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> { futures::executor::block_on(async {
/// # let store = Arc::new(MemoryStore::new());
/// let wakeup = Arc::new(LocalWakeup::new());
/// let relay = Relay::new(store.clone(), TokioTimer::new(), RelayConfig::default()).with_wakeup(wakeup.clone());
///
/// let tx = store.begin();
/// let hint = store.enqueue_hinted(&tx, &[NewMessage::json("orders", &"order 7 is paid")?]).await?;
/// tx.commit();
/// hint.wake(&*wakeup).await;
/// # let _ = relay; Ok(()) }) }
/// ```
#[async_trait]
pub trait EnqueueHinted<Tx: Sync + ?Sized>: Enqueue<Tx> {
    /// Enqueues messages in `tx`; the hint is to be fired after its commit.
    async fn enqueue_hinted(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Hint, StoreError>;
}

#[async_trait]
impl<Tx: Sync + ?Sized, E: Enqueue<Tx> + ?Sized> EnqueueHinted<Tx> for E {
    async fn enqueue_hinted(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Hint, StoreError> {
        Ok(Hint::of(messages, self.enqueue(tx, messages).await?))
    }
}

/// The queues into which these messages go, each once; a message that comes later by a delay of its own needs no haste.
pub(crate) fn awaited<'a>(messages: impl Iterator<Item = &'a NewMessage>) -> Vec<QueueName> {
    let at_once = messages.filter(|message| !matches!(message.due, Due::After(delay) if !delay.is_zero()));
    let mut queues = Vec::new();
    for message in at_once {
        if !queues.contains(&message.queue) {
            queues.push(message.queue.clone());
        }
    }
    queues
}

/// Says of each queue that there may be work.
pub(crate) async fn wake_all(wakeup: &dyn Wakeup, queues: &[QueueName]) {
    join_all(queues.iter().map(|queue| async move {
        if let Err(error) = wakeup.wake(queue).await {
            tracing::debug!(%queue, %error, "no relay woken");
        }
    }))
    .await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use claimstream_ports::mock::MockEnqueue;
    use futures::{FutureExt, executor::block_on};

    use super::*;
    use crate::enqueue::Compose;
    use crate::wakeup::LocalWakeup;

    fn message(queue: &str) -> NewMessage {
        NewMessage::json(queue, &7).unwrap()
    }

    #[test]
    fn wakes_for_what_is_new_and_due_and_for_nothing_else() {
        let messages = [
            message("orders"),
            message("orders"),
            message("known"),
            message("later").deliver_after(Duration::from_secs(1)),
            message("mails").deliver_after(Duration::ZERO),
        ];
        let mut answers = vec![Enqueued::New; 5];
        answers[2] = Enqueued::Duplicate;
        let mut store = MockEnqueue::new();
        let answered = answers.clone();
        store.expect_enqueue().returning(move |_, _| Ok(answered.clone()));
        let hint = block_on(store.enqueue_hinted(&(), &messages)).unwrap();
        assert_eq!(hint.enqueued(), answers);

        let wakeup = LocalWakeup::new();
        let rung = |name: &str| wakeup.wait(&QueueName::new(name).unwrap()).now_or_never().is_some();
        assert!(!rung("orders"), "not before the commit");
        block_on(hint.wake(&wakeup));
        assert!(rung("orders") && rung("mails"));
        assert!(!rung("known") && !rung("later"));
    }

    #[test]
    fn a_mock_takes_any_type_of_transaction() {
        struct Session;
        let mut store = MockEnqueue::<Session>::new();
        store.expect_enqueue().returning(|_, messages| Ok(vec![Enqueued::New; messages.len()]));
        let hint = block_on(store.enqueue_hinted(&Session, &[message("orders")])).unwrap();
        assert_eq!(hint.enqueued(), [Enqueued::New]);
    }

    #[test]
    fn a_hint_of_nothing_wakes_nobody() {
        assert_eq!(Hint::of(&[], Vec::new()).queues, []);
    }
}
