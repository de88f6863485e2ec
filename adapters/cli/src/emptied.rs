use std::time::Duration;

use claimstream_domain::{PausedQueue, QueueStatus};
use claimstream_ports::{Observe, PauseQueues, StoreError, Timer};

use crate::unpublished::Unpublished;

/// Ends when these queues hold nothing that is due or leased; what waits for a later time does not count, nor what
/// is due in a paused queue, nor a queue whose broker stays away.
///
/// A request and its messages, and a message and its copies, change places in one transaction, and one statement reads all queues, so none is missed
/// on the way from one to the other. But that statement takes its time a little before it sees the rows: a message written
/// in between is due a little later than that, and looks as if it waited. So the queues are found empty twice.
pub(crate) async fn emptied(
    ours: &[String],
    unpublished: &Unpublished,
    queues: &impl Observe,
    pauses: &impl PauseQueues,
    timer: &impl Timer,
) {
    let mut found_empty = false;
    loop {
        let asked = timer.now();
        let ours: Vec<&String> =
            ours.iter().filter(|queue| !unpublished.waits_for_its_broker(queue)).collect();
        let is_empty = is_empty(&ours, queues, pauses).await;
        if is_empty && found_empty {
            return;
        }
        found_empty = is_empty;
        // Counting a long queue takes time; most of it is left to the relay.
        timer.sleep(Duration::from_millis(100).max((timer.now() - asked) * 10)).await;
    }
}

async fn is_empty(ours: &[&String], queues: &impl Observe, pauses: &impl PauseQueues) -> bool {
    let looked = match pauses.paused().await {
        Ok(paused) => queues.observe().await.map(|queues| (queues, paused)),
        Err(error) => Err(error),
    };
    match looked {
        Ok((queues, paused)) => !queues.iter().any(|status| is_busy(ours, status, &paused)),
        Err(error) => {
            report(&error);
            false
        }
    }
}

fn is_busy(ours: &[&String], status: &QueueStatus, paused: &[PausedQueue]) -> bool {
    let is_ours = ours.iter().any(|queue| *queue == status.queue.as_str());
    let is_paused = paused.iter().any(|paused| paused.queue == status.queue);
    is_ours && (status.leased > 0 || (status.due > 0 && !is_paused))
}

fn report(error: &StoreError) {
    tracing::warn!(%error, "the relay cannot read the state of its queues");
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Mutex};

    use claimstream_domain::{PauseNote, QueueName};
    use claimstream_notifications::Priority;
    use claimstream_ports::{
        StoreErrorKind,
        mock::{MockObserve, MockPauseQueues},
    };
    use claimstream_tokio::TokioTimer;

    use super::*;

    fn holding(depth: u64, due: u64) -> Result<Vec<QueueStatus>, StoreError> {
        let queue = QueueName::new(Priority::Normal.message_queue()).unwrap();
        Ok(vec![QueueStatus { depth, due, ..QueueStatus::empty(queue) }])
    }

    /// How often the queues are looked at, if they answer so and stay empty afterwards.
    async fn looks(answers: Vec<Result<Vec<QueueStatus>, StoreError>>) -> usize {
        looks_beside(answers, Vec::new()).await
    }

    /// The same, while queues are paused.
    async fn looks_beside(
        answers: Vec<Result<Vec<QueueStatus>, StoreError>>,
        paused: Vec<PausedQueue>,
    ) -> usize {
        let all = answers.len();
        let answers = Mutex::new(VecDeque::from(answers));
        let mut queues = MockObserve::new();
        queues
            .expect_observe()
            .returning(move || answers.lock().unwrap().pop_front().expect("one look more"));
        let mut pauses = MockPauseQueues::new();
        pauses.expect_paused().returning(move || Ok(paused.clone()));
        let ours = [Priority::Normal.message_queue().to_owned()];
        emptied(&ours, &Unpublished::default(), &queues, &pauses, &TokioTimer::new()).await;
        all
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_was_written_while_the_queues_were_read_is_waited_for() {
        let gone = || Err(StoreError::new(StoreErrorKind::Unavailable, "observe", "gone"));
        // Written after the time was taken, it looks as if it waited; then it is due.
        assert_eq!(looks(vec![holding(1, 0), holding(1, 1), holding(0, 0), holding(0, 0)]).await, 4);
        assert_eq!(looks(vec![holding(0, 0), gone(), holding(0, 0), holding(0, 0)]).await, 4);
        // What waits for a later time is not waited for.
        assert_eq!(looks(vec![holding(1, 0), holding(1, 0)]).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn messages_in_a_paused_queue_are_not_waited_for_unless_they_are_held() {
        let queue = QueueName::new(Priority::Normal.message_queue()).unwrap();
        let note = PauseNote::new("ann", None).unwrap();
        let paused = vec![PausedQueue { queue, since: Duration::ZERO, note }];
        let held =
            || holding(2, 1).map(|all| all.into_iter().map(|it| QueueStatus { leased: 1, ..it }).collect());
        assert_eq!(looks_beside(vec![held(), holding(1, 1), holding(1, 1)], paused).await, 3);
    }
}
