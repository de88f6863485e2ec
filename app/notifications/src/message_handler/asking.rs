use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Verdict,
    notification::{DeliveryStatus, consent::Consent, provider::ProviderName},
};
use claimstream_ports::{StoreError, Verdicts};
use uuid::Uuid;

use super::{MessageHandler, give_back};
use crate::{outcome::Attempt, question::Question};

/// A message, and where its record stands.
pub(super) type Standing<'a> = (Attempt<'a>, Result<Option<DeliveryStatus>, StoreError>);

/// What is asked once for all messages of a batch, before any is delivered.
impl MessageHandler {
    /// The providers that may have accepted messages which were tried before; they are asked for by one call, and only if there are
    /// such messages. A revival counts attempts from one, so a message that has failed was tried as well.
    ///
    /// While the store is away these messages are given back: one of them might go to a second provider.
    pub(super) async fn in_doubt<'a>(
        &self,
        mut read: Vec<Standing<'a>>,
        verdicts: &dyn Verdicts,
    ) -> (Vec<Standing<'a>>, HashMap<Uuid, Vec<ProviderName>>) {
        let tried = read.iter().filter(|standing| was_tried(standing));
        let ids: Vec<Uuid> = tried.map(|(attempt, _)| attempt.message.id).collect();
        let Some(log) = self.attempt_log.as_ref().filter(|_| !ids.is_empty()) else {
            return (read, HashMap::new());
        };
        let unlogged = read.iter().map(|(attempt, _)| {
            let doubt = attempt.unlogged_doubt().into_providers();
            (attempt.message.id, doubt)
        });
        let mut doubts: HashMap<Uuid, Vec<ProviderName>> = unlogged.collect();
        match log.in_doubt(&ids).await {
            Ok(all) => {
                ids.into_iter()
                    .zip(all)
                    .for_each(|(id, logged)| doubts.entry(id).or_default().extend(logged));
                (read, doubts)
            }
            Err(error) if error.is_about_the_store() => {
                for (attempt, _) in read.extract_if(.., |standing| was_tried(standing)) {
                    give_back(&attempt, &error, verdicts);
                }
                (read, HashMap::new())
            }
            Err(error) => {
                tracing::warn!(messages = ids.len(), %error, "earlier attempts cannot be read");
                (read, doubts)
            }
        }
    }

    /// Asks the time once for all messages that may be too late, if there are any; the others cost nothing.
    pub(super) async fn find_expired<'a>(
        &self,
        mut attempts: Vec<Attempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<Attempt<'a>> {
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
        mut attempts: Vec<Attempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<Attempt<'a>> {
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
fn unasked(attempt: &Attempt<'_>, error: &StoreError, verdicts: &dyn Verdicts) {
    let (message_id, number) = (attempt.message.id, attempt.claimed.attempt);
    tracing::warn!(%message_id, attempt = number, %error, "notification.message.unasked");
    verdicts.give(attempt.index, Verdict::nack(error));
}

fn was_tried((attempt, status): &Standing<'_>) -> bool {
    attempt.claimed.attempt > 1 || matches!(status, Ok(Some(DeliveryStatus::Failed)))
}
