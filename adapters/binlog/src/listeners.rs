use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use claimstream_domain::QueueName;
use claimstream_ports::Wakeup;

use crate::news::News;

/// The queues that a relay has waited on, and how their waits are woken.
pub(crate) struct Listeners {
    waits: Arc<dyn Wakeup>,
    queues: Mutex<BTreeSet<QueueName>>,
}

impl Listeners {
    pub(crate) fn new(waits: Arc<dyn Wakeup>) -> Self {
        Self { waits, queues: Mutex::default() }
    }

    /// Waits on a queue, which is woken from now on.
    pub(crate) async fn wait(&self, queue: &QueueName) {
        self.queues().insert(queue.clone());
        self.waits.wait(queue).await;
    }

    /// Those of the queues that an event is about; others may be anything that a writer has made up.
    pub(crate) fn concerned(&self, news: &News) -> BTreeSet<QueueName> {
        let queues = self.queues();
        match news {
            News::Nothing => BTreeSet::new(),
            News::Queues(named) => queues.intersection(named).cloned().collect(),
            News::Any => queues.clone(),
        }
    }

    pub(crate) async fn wake(&self, queues: &BTreeSet<QueueName>) {
        for queue in queues {
            if let Err(error) = self.waits.wake(queue).await {
                tracing::debug!(%queue, %error, "no relay woken");
            }
        }
    }

    fn queues(&self) -> std::sync::MutexGuard<'_, BTreeSet<QueueName>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use claimstream::LocalWakeup;
    use futures::{FutureExt, executor::block_on};

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn news_concern_the_queues_that_are_waited_on_and_no_others() {
        let listeners = Listeners::new(Arc::new(LocalWakeup::new()));
        let [orders, mails, unknown] = ["orders", "mails", "unknown"].map(queue);
        assert!(listeners.wait(&orders).now_or_never().is_none());
        assert!(listeners.wait(&mails).now_or_never().is_none());
        let of_orders = News::Queues([orders.clone(), unknown].into());
        assert_eq!(listeners.concerned(&of_orders), [orders.clone()].into());
        assert_eq!(listeners.concerned(&News::Any), [mails.clone(), orders.clone()].into());
        assert_eq!(listeners.concerned(&News::Nothing), BTreeSet::new());
        block_on(listeners.wake(&[orders.clone()].into()));
        assert!(listeners.wait(&orders).now_or_never().is_some());
        assert!(listeners.wait(&mails).now_or_never().is_none());
    }
}
