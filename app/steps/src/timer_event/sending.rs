use std::sync::Arc;

use claimstream_domain::{
    Invalid, Timestamp,
    notification::{NotificationRequest, request_message},
    timer_event::{DecisionName, Tick},
};
use claimstream_ports::notification::SubmitRequests;
use futures::FutureExt;

use super::{EventInfo, EventScheme};

/// Notifications that are sent again and again.
impl<Tx: Send + Sync + 'static> EventScheme<Tx> {
    /// Adds a decision that submits a notification request in its transaction, so each occurrence has exactly one. The request gets an id
    /// made from the event's and the decision's name.
    ///
    /// `write` is tried out on an event of the year 1970 at once, and what it writes is refused here if it could not be submitted.
    pub fn notification(
        self,
        name: DecisionName,
        requests: Arc<dyn SubmitRequests<Tx>>,
        write: impl Fn(&EventInfo) -> NotificationRequest + Send + Sync + 'static,
    ) -> Result<Self, Invalid> {
        let example = Tick { scheme: self.name.clone(), occurrence: Timestamp::from_micros(0)? };
        request_message(&write(&EventInfo::of(&example)))?;
        let submits = name.clone();
        Ok(self.decision(name, move |tx, event| {
            let request = NotificationRequest { id: event.id.decision_key(&submits), ..write(event) };
            let requests = Arc::clone(&requests);
            async move {
                requests.submit(tx, &[request]).await?;
                Ok(())
            }
            .boxed()
        }))
    }
}
