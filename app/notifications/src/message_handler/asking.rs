use std::time::Duration;

use claimstream_domain::{
    Verdict,
    notification::{DeliveryStatus, consent::Consent},
};
use claimstream_ports::{StoreError, Verdicts, notification::DeliveryState};

use super::{MessageHandler, give_back};
use crate::{outcome::MessageAttempt, question::Question, reading::read_each};

/// A message, and where its record stands.
pub(super) type RecordedAttempt<'a> = (MessageAttempt<'a>, Result<Option<DeliveryStatus>, StoreError>);

/// What is asked once for all messages of a batch, before any is delivered.
impl MessageHandler {
    /// Where the messages of a batch stand, by one call for all of them. Which providers may have one is always read with it: no number
    /// of an attempt says whether there was one before, because an attempt is not counted if its process has lost its claim, and a
    /// revival counts from one.
    ///
    /// While the store is away the messages are given back: one of them might go to a second provider.
    pub(super) async fn read<'a>(
        &self,
        attempts: Vec<MessageAttempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<RecordedAttempt<'a>> {
        let states = |ids: Vec<_>| async move {
            Ok(self.messages.delivery_states(&ids).await?.into_iter().map(Some).collect())
        };
        let back = |attempt: &_, error: &_| give_back(attempt, error, verdicts);
        let read = read_each(attempts, |attempt| attempt.message.id, states, back).await;
        let standing = read.into_iter().map(|(mut attempt, state)| {
            let status = state.map(|state| {
                let DeliveryState { status, in_doubt } = state.unwrap_or_default();
                attempt.doubt.add(in_doubt.iter().map(|provider| provider.as_str()));
                status
            });
            (attempt, status)
        });
        standing.collect()
    }

    /// Asks the time once for all messages that may be too late, if there are any; the others cost nothing.
    pub(super) async fn find_expired<'a>(
        &self,
        mut attempts: Vec<MessageAttempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<MessageAttempt<'a>> {
        if attempts.iter().all(|attempt| attempt.message.expires_at.is_none()) {
            return attempts;
        }
        match self.messages.since_1970().await {
            Ok(now) => {
                for attempt in &mut attempts {
                    let until = attempt
                        .message
                        .expires_at
                        .map(|at| Duration::from_micros(at.as_micros().unsigned_abs()));
                    attempt.is_expired = until.is_some_and(|until| until < now);
                }
                attempts
            }
            Err(error) => {
                attempts.iter().for_each(|attempt| give_back(attempt, &error, verdicts));
                Vec::new()
            }
        }
    }

    /// Asks the recipients of a batch, once for all of them. A message whose recipient's preferences cannot be read is no business of
    /// the others.
    pub(super) async fn ask<'a>(
        &self,
        mut attempts: Vec<MessageAttempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<MessageAttempt<'a>> {
        let Some(consents) = &self.consents else { return attempts };
        let questions: Vec<_> = attempts.iter().map(|attempt| Question::of(&attempt.message)).collect();
        let all: Vec<&Question> = questions.iter().collect();
        match consents.ask(&all).await {
            Ok(answers) => {
                attempts.iter_mut().zip(answers).for_each(|(attempt, answer)| attempt.consent = answer);
                attempts
            }
            Err(error) if error.is_about_the_store() => {
                attempts.iter().for_each(|attempt| give_back(attempt, &error, verdicts));
                Vec::new()
            }
            Err(_) => {
                let mut asked = Vec::new();
                for (mut attempt, question) in attempts.into_iter().zip(&questions) {
                    match consents.ask(&[question]).await {
                        Ok(answers) => {
                            attempt.consent = answers.into_iter().next().unwrap_or(Consent::Now);
                            asked.push(attempt);
                        }
                        Err(error) => unasked(&attempt, &error, verdicts),
                    }
                }
                asked
            }
        }
    }
}

/// What one recipient wants cannot be read; nothing was delivered, and it is tried again.
fn unasked(attempt: &MessageAttempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (message_id, number) = (attempt.message.id, attempt.claimed.attempt);
    tracing::warn!(%message_id, attempt = number, %error, "notification.message.unasked");
    verdicts.give(attempt.index, Verdict::nack(error));
}
