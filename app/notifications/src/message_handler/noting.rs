use claimstream_ports::{
    StoreError, Verdicts,
    notification::{DeliveryAttempt, MessageOutcome},
};

use super::MessageHandler;
use crate::outcome::AttemptOutcome;

/// How deliveries ended.
impl MessageHandler {
    /// Notes outcomes and attempts, and gives the verdicts on their messages. One that cannot be noted is no business of the
    /// others.
    pub(super) async fn note(&self, outcomes: Vec<AttemptOutcome<'_>>, verdicts: &dyn Verdicts) {
        let to_note: Vec<_> = outcomes.iter().map(AttemptOutcome::to_note).collect();
        let all: Vec<MessageOutcome> = to_note.iter().flatten().cloned().collect();
        let (noted, logged) = futures::join!(self.conclude(&all), self.log(&outcomes));
        let max_attempts = self.config.retry.max_attempts;
        let apart = matches!(&noted, Err(error) if all.len() > 1 && !error.is_about_the_store());
        for (outcome, to_note) in outcomes.into_iter().zip(&to_note) {
            let alone = match apart && !to_note.is_empty() {
                true => Some(self.conclude(to_note).await),
                false => None,
            };
            let noted = alone.as_ref().unwrap_or(&noted).as_ref().copied();
            verdicts.give(outcome.attempt.index, outcome.verdict(noted, logged, max_attempts));
        }
    }

    async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError> {
        match outcomes.is_empty() {
            true => Ok(()),
            false => self.messages.conclude(outcomes).await,
        }
    }

    /// Notes attempts, and says whether they are. One that cannot be noted is missing in the log; its message is none the worse, and
    /// if it comes again, its reason says what the log does not.
    async fn log(&self, outcomes: &[AttemptOutcome<'_>]) -> bool {
        let Some(log) = &self.attempt_log else { return false };
        let attempts: Vec<DeliveryAttempt> = outcomes.iter().flat_map(AttemptOutcome::attempts).collect();
        if attempts.is_empty() {
            return true;
        }
        let noted = log.note(&attempts).await;
        if let Err(error) = &noted {
            tracing::warn!(attempts = attempts.len(), %error, "attempts could not be noted");
        }
        noted.is_ok()
    }
}
