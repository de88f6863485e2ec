use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Timestamp,
    notification::{
        DeliveryStatus,
        digest::{DigestTaking, KeptItem},
    },
};
use claimstream_ports::{StoreError, StoreErrorKind, Verdicts, notification::DigestPlace};

use super::{MessageHandler, asking::RecordedAttempt, give_back};
use crate::{
    digests::Digests,
    outcome::{Digested, MessageAttempt},
    reading::read_each,
};

/// Digests of a batch: closed together, and written one by one.
impl MessageHandler {
    /// Where digests stand, with the text of each; a batch without a digest costs nothing. One that could not be read stays as it is.
    pub(super) async fn gather<'a>(
        &self,
        read: Vec<RecordedAttempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<RecordedAttempt<'a>> {
        let (read, mut standing): (Vec<_>, Vec<_>) = read.into_iter().partition(|(_, status)| status.is_ok());
        let attempts: Vec<MessageAttempt<'a>> = read.into_iter().map(|(attempt, _)| attempt).collect();
        if attempts.is_empty() {
            return standing;
        }
        let Some(digests) = &self.digests else {
            let why = || StoreError::new(StoreErrorKind::Unsupported, "digest", "this relay has no digests");
            standing.extend(attempts.into_iter().map(|attempt| (attempt, Err(why()))));
            return standing;
        };
        let places: HashMap<_, _> = attempts.iter().map(|at| (at.message.id, place(at))).collect();
        let close = |ids: Vec<_>| {
            let places: Vec<_> = ids.iter().filter_map(|id| places.get(id).copied()).collect();
            async move { Ok(digests.close(&places).await?.into_iter().map(Some).collect()) }
        };
        let back = |attempt: &_, error: &_| give_back(attempt, error, verdicts);
        let closed = read_each(attempts, |attempt| attempt.message.id, close, back).await;
        let may_expire = closed.iter().any(|(_, items)| {
            let items = items.iter().flatten().flatten();
            items.into_iter().any(|kept| kept.item.message.expires_at.is_some())
        });
        let now = match may_expire {
            false => Ok(Duration::ZERO),
            true => self.messages.since_1970().await,
        };
        let now = match now {
            Ok(now) => i64::try_from(now.as_micros()).unwrap_or(i64::MAX),
            Err(error) => {
                closed.iter().for_each(|(attempt, _)| give_back(attempt, &error, verdicts));
                return standing;
            }
        };
        let now = Timestamp::from_micros(now).unwrap_or(Timestamp::MAX);
        for (mut attempt, items) in closed {
            let status = match items {
                Ok(items) => self.open(digests, &mut attempt, items.unwrap_or_default(), now).await,
                Err(error) => Err(error),
            };
            match status {
                Err(error) if error.is_about_the_store() => give_back(&attempt, &error, verdicts),
                status => standing.push((attempt, status)),
            }
        }
        standing
    }

    /// Where a digest stands, which has the items that are left of it and their text then.
    async fn open(
        &self,
        digests: &Digests,
        attempt: &mut MessageAttempt<'_>,
        mut items: Vec<KeptItem>,
        now: Timestamp,
    ) -> Result<Option<DeliveryStatus>, StoreError> {
        let reopened = match attempt.claimed.attempt > self.config.retry.max_attempts {
            true => Ok(()),
            false => self.take_up_items(&mut items).await,
        };
        let taking = DigestTaking::of(items, now);
        let (left, expired) = (taking.delivered().collect::<Vec<_>>(), taking.expired.clone());
        attempt.is_expired = left.is_empty() && !expired.is_empty();
        // If it is the last attempt, all of them have failed after an error.
        let digested = attempt.digest.insert(Digested { items: left, expired, unwritten: None });
        reopened?;
        if let Some(first) = taking.items.first() {
            let text = digests.write(&attempt.message, &taking.items).await?;
            match text.and_then(|text| text.fits(attempt.message.channel).map(|()| text)) {
                Ok(text) => attempt.message.content = text,
                Err(why) => digested.unwritten = Some(why),
            }
            attempt.message.sender = first.message.sender.clone();
        }
        Ok(Some(taking.status))
    }

    /// Takes items up again that have failed before: their digest was revived, or its end was noted of some items only.
    async fn take_up_items(&self, items: &mut [KeptItem]) -> Result<(), StoreError> {
        for kept in items.iter_mut().filter(|kept| kept.status == DeliveryStatus::Failed) {
            kept.status = self.reopen(kept.item.message.id).await?;
        }
        Ok(())
    }
}

fn place(attempt: &MessageAttempt<'_>) -> DigestPlace {
    DigestPlace { key: attempt.message.digest.unwrap_or_default(), id: attempt.message.id }
}
