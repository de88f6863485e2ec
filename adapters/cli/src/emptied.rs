use std::time::Duration;

use claimstream_domain::{PausedQueue, QueueStatus, publishing::OutagePacing};
use claimstream_ports::{Observe, PauseQueues, StoreError, Timer};

use crate::unpublished::Unpublished;

/// Ends when these queues hold nothing that is due or leased; what waits for a later time does not count, nor what
/// is due in a paused queue, nor a queue whose broker stays away. What waits in a queue that is published counts in the beginning: an earlier
/// process may have given it back a moment ago, because the broker was away.
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
    let began = timer.now();
    loop {
        let asked = timer.now();
        let is_fresh = asked.saturating_sub(began) < GIVEN_BACK;
        let waiting = |queue: &str| is_fresh && unpublished.publishes(queue);
        let ours: Vec<&String> =
            ours.iter().filter(|queue| !unpublished.waits_for_its_broker(queue)).collect();
        let is_empty = is_empty(&ours, waiting, queues, pauses).await;
        if is_empty && found_empty {
            return;
        }
        found_empty = is_empty;
        // Counting a long queue takes time; most of it is left to the relay.
        timer.sleep(Duration::from_millis(100).max((timer.now() - asked) * 10)).await;
    }
}

/// For how long a message waits that a process gave back soon after it had begun.
const GIVEN_BACK: Duration = OutagePacing::LONGEST.saturating_mul(2);

async fn is_empty(
    ours: &[&String],
    waiting: impl Fn(&str) -> bool,
    queues: &impl Observe,
    pauses: &impl PauseQueues,
) -> bool {
    let looked = match pauses.paused().await {
        Ok(paused) => queues.observe().await.map(|queues| (queues, paused)),
        Err(error) => Err(error),
    };
    match looked {
        Ok((queues, paused)) => !queues.iter().any(|status| is_busy(ours, &waiting, status, &paused)),
        Err(error) => {
            report(&error);
            false
        }
    }
}

fn is_busy(
    ours: &[&String],
    waiting: impl Fn(&str) -> bool,
    status: &QueueStatus,
    paused: &[PausedQueue],
) -> bool {
    let queue = status.queue.as_str();
    let is_ours = ours.iter().any(|known| *known == queue);
    let is_paused = paused.iter().any(|paused| paused.queue == status.queue);
    let counted = if waiting(queue) { status.due + status.waiting() } else { status.due };
    is_ours && (status.leased > 0 || (counted > 0 && !is_paused))
}

fn report(error: &StoreError) {
    tracing::warn!(%error, "the relay cannot read the state of its queues");
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        sync::{Arc, Mutex},
    };

    use claimstream_domain::{
        PauseNote, QueueName,
        publishing::{EventMode, Route},
    };
    use claimstream_notifications::Priority;
    use claimstream_ports::{
        StoreErrorKind,
        mock::{MockObserve, MockPauseQueues, MockPublish},
    };
    use claimstream_publishing::PublishHandler;
    use claimstream_tokio::TokioTimer;

    use super::*;

    fn holding(depth: u64, due: u64) -> Result<Vec<QueueStatus>, StoreError> {
        let queue = QueueName::new(Priority::Normal.message_queue()).unwrap();
        Ok(vec![QueueStatus { depth, due, ..QueueStatus::empty(queue) }])
    }

    /// How often the queues are looked at, if they answer so and stay empty afterwards.
    async fn looks(answers: Vec<Result<Vec<QueueStatus>, StoreError>>) -> usize {
        looks_during(answers, Vec::new()).await
    }

    /// The same, while queues are paused.
    async fn looks_during(
        answers: Vec<Result<Vec<QueueStatus>, StoreError>>,
        paused: Vec<PausedQueue>,
    ) -> usize {
        looks_of(answers, paused, &Unpublished::default()).await
    }

    async fn looks_of(
        answers: Vec<Result<Vec<QueueStatus>, StoreError>>,
        paused: Vec<PausedQueue>,
        unpublished: &Unpublished,
    ) -> usize {
        let all = answers.len();
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let left = Arc::clone(&answers);
        let mut queues = MockObserve::new();
        queues
            .expect_observe()
            .returning(move || answers.lock().unwrap().pop_front().expect("one look more"));
        let mut pauses = MockPauseQueues::new();
        pauses.expect_paused().returning(move || Ok(paused.clone()));
        let ours = [Priority::Normal.message_queue().to_owned()];
        emptied(&ours, unpublished, &queues, &pauses, &TokioTimer::new()).await;
        all - left.lock().unwrap().len()
    }

    /// The queue is published, to a broker that nothing was sent to yet.
    fn published() -> Unpublished {
        let route = Route { place: "orders".parse().unwrap(), events: EventMode::Plain };
        let timer = Arc::new(TokioTimer::new());
        let handler = PublishHandler::new("orders", Arc::new(MockPublish::new()), route, timer);
        let queue = QueueName::new(Priority::Normal.message_queue()).unwrap();
        Unpublished::of(vec![(queue, "orders".parse().unwrap(), handler.standing())])
    }

    /// Guard: a message that an earlier run gave back is not left behind | `emptied`: no look at `waiting`
    #[tokio::test(start_paused = true)]
    async fn what_an_earlier_run_gave_back_is_waited_for_and_what_waits_for_long_is_not() {
        let given_back =
            || vec![holding(1, 0), holding(1, 0), holding(1, 0), holding(1, 1), holding(0, 0), holding(0, 0)];
        assert_eq!(looks_of(given_back(), Vec::new(), &published()).await, 6);
        assert_eq!(looks(given_back()).await, 2, "nothing of it is published");
        let looks = looks_of((0..1000).map(|_| holding(1, 0)).collect(), Vec::new(), &published()).await;
        let every = Duration::from_millis(100);
        assert_eq!(looks as u128, GIVEN_BACK.as_millis() / every.as_millis() + 2);
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
        assert_eq!(looks_during(vec![held(), holding(1, 1), holding(1, 1)], paused).await, 3);
    }
}
