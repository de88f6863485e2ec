use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Reason, Verdict,
    saga::{SagaId, SagaOrder},
};
use claimstream_ports::Handler;
use serde::{Serialize, de::DeserializeOwned};

use super::{Saga, SagaError, SagaHome, SagaOutcome, SagaRun, alarm::SagaAlarmKind, entered::Entered};

/// A message of the saga's queue is done only when its saga is over; until then it comes again, for ever. One whose saga
/// is broken is kept with the dead letters.
#[async_trait]
impl<I, H> Handler for Saga<I, H>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: SagaHome + 'static,
{
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let order: SagaOrder = match serde_json::from_slice(claimed.message.payload.bytes()) {
            Ok(order) => order,
            Err(e) => return Verdict::bury(format_args!("the payload is not a saga order: {e}")),
        };
        let run = match self.ordered(&order) {
            Ok(run) => run,
            Err(error) => return self.unreadable(order.saga, error).await,
        };
        if claimed.attempt > self.config().alarm_after {
            // Recorded beforehand, for those whose deliveries end the process.
            let reason = Reason::new(format_args!("delivery {}", claimed.attempt));
            self.late(&run, &reason).await;
        }
        match self.enter(&run, order.order.entry()).await {
            // It is being run; that counts neither as an attempt nor as late.
            Ok(Entered::Busy(after)) => Verdict::Postpone { after, reason: Entered::busy() },
            Ok(Entered::Ran(SagaOutcome::Underway { reason })) => {
                if claimed.attempt >= self.config().alarm_after {
                    self.late(&run, &reason).await;
                }
                Verdict::nack(reason)
            }
            Ok(Entered::Ran(SagaOutcome::TooLate { state })) => {
                let reason = Reason::new(format_args!("it was to be rolled back, and is {state}"));
                match self.alarm(run.id, SagaAlarmKind::TooLate, &reason).await {
                    Ok(()) => Verdict::ack(),
                    Err(error) => Verdict::nack(error),
                }
            }
            Ok(Entered::Ran(_)) => Verdict::ack(),
            // The alarm could not be raised; the message comes again, and so does the alarm.
            Err(SagaError::Store(error)) => Verdict::nack(error),
            Err(error) => Verdict::bury(error),
        }
    }
}

impl<I, H> Saga<I, H>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: SagaHome + 'static,
{
    /// Keeps an order that cannot be read, such as one from before its input had a new field, and says so.
    async fn unreadable(&self, saga: SagaId, error: SagaError) -> Verdict {
        match self.alarm(saga, SagaAlarmKind::Broken, &Reason::new(&error)).await {
            Err(SagaError::Store(unavailable)) => Verdict::nack(unavailable),
            _ => Verdict::bury(error),
        }
    }

    async fn late(&self, run: &SagaRun<I>, reason: &Reason) {
        if let Err(error) = self.alarm(run.id, SagaAlarmKind::Late, reason).await {
            tracing::warn!(saga = %run.row, %error, "saga.alarm.not_raised");
        }
    }

    fn ordered(&self, order: &SagaOrder) -> Result<SagaRun<I>, SagaError> {
        let malformed = |e: serde_json::Error| claimstream_domain::Invalid::Malformed {
            what: "saga input",
            why: e.to_string(),
        };
        let input: I = serde_json::from_value(order.input.clone()).map_err(malformed)?;
        // Written again as the steps' own type writes it, so that it is the same text each time.
        let json = serde_json::to_string(&input).map_err(malformed)?;
        self.run_of(order.saga, &order.owner, json, input)
    }
}
