use claimstream_domain::{
    MessageId,
    notification::{DeliveryStatus, NotificationRecord, Progress, RequestStatus},
};
use claimstream_ports::notification::{AttemptLog, NotificationReports};
use futures::FutureExt;

use super::{
    Notifications,
    asked::{Asked, Expected},
    queues,
};
use crate::{journal::End, relays::MAX_ATTEMPTS};

impl Notifications {
    /// Whether nothing more will come of any request.
    pub(super) fn are_settled(&self) -> bool {
        let is_settled = |asked| self.progress(asked).is_some_and(|progress| progress.is_settled());
        self.asked.iter().all(is_settled)
    }

    fn progress(&self, asked: &Asked) -> Option<Progress> {
        let progress = self.outbox.store.progress(asked.request.id);
        progress.now_or_never()?.expect("an answer")
    }

    /// Every request has come to its end, with a record for each recipient and channel that says what became of it.
    pub(super) fn check(&self) {
        self.asked.iter().for_each(|asked| self.check_request(asked));
    }

    fn check_request(&self, asked: &Asked) {
        let (sim, name, expected) = (&self.outbox.sim, asked.name(), asked.expected());
        let Some(progress) = self.progress(asked) else { return sim.fail(format!("{name} is lost")) };
        let records = self.outbox.store.messages(asked.request.id, None, 100).now_or_never();
        let records = records.and_then(Result::ok).unwrap_or_default();
        sim.trace(|| format!("{name}: {progress:?}"));
        let is_known = |record: &NotificationRecord| expected.contains_key(&record.id);
        sim.require(records.iter().all(is_known), || format!("{name} has a record that it should not have"));
        match progress.recorded {
            RequestStatus::Cancelled => {}
            RequestStatus::Failed => {
                let [queue, _] = queues();
                let is_dead = self.outbox.journal.ended(&queue, End::Dead) > 0;
                sim.require(asked.names_unknown_alone() || is_dead, || {
                    format!("{name} failed without a reason")
                });
            }
            status => {
                sim.require(records.len() == expected.len(), || {
                    format!("{name} is {status} with {} records of {}", records.len(), expected.len())
                });
            }
        }
        for record in &records {
            if let Some(expected) = expected.get(&record.id) {
                self.check_record(asked, progress.recorded, record, *expected);
            }
        }
    }

    fn check_record(
        &self,
        asked: &Asked,
        request: RequestStatus,
        record: &NotificationRecord,
        expected: Expected,
    ) {
        let (sim, journal, id) = (&self.outbox.sim, &self.outbox.journal, MessageId::new(record.id));
        let (end, taken, calls) = (journal.end(id), self.sends.taken(record.id), self.sends.asked(record.id));
        let reason = record.reason.as_ref().map(|reason| reason.as_str());
        let is_expired = reason == Some("expired") && asked.request.expires_at.is_some();
        let fits = match record.status {
            DeliveryStatus::Pending => false,
            DeliveryStatus::Delivered => expected == Expected::Sent && taken > 0,
            DeliveryStatus::Skipped => expected == Expected::Skipped || is_expired,
            DeliveryStatus::Cancelled => request == RequestStatus::Cancelled,
            DeliveryStatus::Failed => match expected {
                Expected::Failed => true,
                Expected::Refused => end == Some(End::Dead),
                Expected::Sent => end == Some(End::Dead) && journal.attempts(id) >= MAX_ATTEMPTS,
                Expected::Skipped => false,
            },
        };
        sim.require(fits, || {
            format!(
                "{expected:?} is {} ({reason:?}), taken {taken} times, its message: {end:?}",
                record.status
            )
        });
        let is_needless = calls > 0 && matches!(expected, Expected::Skipped | Expected::Failed);
        sim.require(!is_needless, || format!("{} was sent and is {expected:?}", record.id));
        let logged = self.outbox.store.attempts(&[record.id]).now_or_never().and_then(Result::ok);
        let logged = logged.unwrap_or_default().len();
        sim.require(logged <= calls, || format!("{logged} attempts are logged of {calls} at {}", record.id));
        let accepted = self.sends.accepted(record.id);
        let is_repeated = accepted > 1 && sim.weather_at_first().counts_only_failures();
        sim.require(!is_repeated, || {
            format!("{} was delivered {accepted} times without a reason", record.id)
        });
    }
}
