use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid, MessageId, NewMessage, Payload, QueueName, Timestamp,
    notification::{NotificationRequest, request_message},
    timer_event::Tick,
};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind, notification::SubmitRequests};

use super::TimedOut;

/// The receiver of an event's timeout, called exactly once: in the transaction that times it out, under an id made from the event's.
pub struct Alarm<Tx>(AlarmKind<Tx>);

enum AlarmKind<Tx> {
    Message(Arc<WriteMessage>),
    Request(Arc<dyn SubmitRequests<Tx>>, Arc<WriteRequest>),
}

type WriteMessage = dyn Fn(&TimedOut) -> Result<NewMessage, Invalid> + Send + Sync;
type WriteRequest = dyn Fn(&TimedOut) -> NotificationRequest + Send + Sync;

impl<Tx: Send + Sync> Alarm<Tx> {
    /// A message with the [`TimedOut`] as JSON in a queue.
    pub fn to_queue(queue: QueueName) -> Self {
        Self::message(move |timed_out| {
            let json = serde_json::to_vec(timed_out)
                .map_err(|e| Invalid::Malformed { what: "alarm", why: e.to_string() })?;
            Ok(NewMessage::new(
                MessageId::new(timed_out.event.alarm_id()),
                queue.clone(),
                Payload::json(json),
            ))
        })
    }

    /// Any message; it gets the alarm's id.
    pub fn message(write: impl Fn(&TimedOut) -> Result<NewMessage, Invalid> + Send + Sync + 'static) -> Self {
        Self(AlarmKind::Message(Arc::new(write)))
    }

    /// A notification request, which the notification pipelines deliver; it gets the alarm's id.
    ///
    /// `write` is tried out on an event of the year 1970 at once, and what it writes is refused here if it could not be
    /// submitted.
    pub fn notification(
        requests: Arc<dyn SubmitRequests<Tx>>,
        write: impl Fn(&TimedOut) -> NotificationRequest + Send + Sync + 'static,
    ) -> Result<Self, Invalid> {
        request_message(&write(&example()?))?;
        Ok(Self(AlarmKind::Request(requests, Arc::new(write))))
    }

    /// Raises it in `tx`.
    pub(super) async fn raise(
        &self,
        outbox: &(impl Enqueue<Tx> + ?Sized),
        tx: &Tx,
        timed_out: &TimedOut,
    ) -> Result<(), StoreError> {
        let id = timed_out.event.alarm_id();
        match &self.0 {
            AlarmKind::Message(write) => {
                let message = NewMessage { id: MessageId::new(id), ..write(timed_out).map_err(corrupt)? };
                outbox.enqueue(tx, &[message]).await?;
            }
            AlarmKind::Request(requests, write) => {
                requests.submit(tx, &[NotificationRequest { id, ..write(timed_out) }]).await?;
            }
        }
        Ok(())
    }
}

impl<Tx> fmt::Debug for Alarm<Tx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            AlarmKind::Message(_) => "Alarm::message",
            AlarmKind::Request(..) => "Alarm::notification",
        })
    }
}

fn example() -> Result<TimedOut, Invalid> {
    let tick = Tick { scheme: "example".parse()?, occurrence: Timestamp::from_micros(0)? };
    let (event, unfinished) = (tick.event_id(), Vec::new());
    Ok(TimedOut {
        scheme: tick.scheme,
        occurrence: tick.occurrence,
        event,
        deadline: Duration::ZERO,
        unfinished,
    })
}

fn corrupt(source: Invalid) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "alarm", source)
}
