use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Timestamp,
    notification::digest::{DigestTaking, KeptItem},
};
use claimstream_ports::{StoreError, StoreErrorKind, Verdicts, notification::DigestPlace};

use super::{MessageHandler, asking::Standing, give_back};
use crate::{
    digests::Digests,
    outcome::{Attempt, Digested},
    reading::read_each,
};

/// Digests of a batch: closed together, and written one by one.
impl MessageHandler {
    /// Where digests stand, with the text of each; a batch without a digest costs nothing.
    pub(super) async fn gather<'a>(
        &self,
        attempts: Vec<Attempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<Standing<'a>> {
        if attempts.is_empty() {
            return Vec::new();
        }
        let Some(digests) = &self.digests else {
            let why = || StoreError::new(StoreErrorKind::Unsupported, "digest", "this relay has no digests");
            return attempts.into_iter().map(|attempt| (attempt, Err(why()))).collect();
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
                return Vec::new();
            }
        };
        let now = Timestamp::from_micros(now).unwrap_or(Timestamp::MAX);
        let mut standing = Vec::with_capacity(closed.len());
        for (attempt, items) in closed {
            let written = match items {
                Ok(items) => written(digests, attempt, items.unwrap_or_default(), now).await,
                Err(error) => (attempt, Err(error)),
            };
            match written {
                (attempt, Err(error)) if error.is_about_the_store() => give_back(&attempt, &error, verdicts),
                written => standing.push(written),
            }
        }
        standing
    }
}

/// A digest with the text of the items that are left of it.
async fn written<'a>(
    digests: &Digests,
    mut attempt: Attempt<'a>,
    items: Vec<KeptItem>,
    now: Timestamp,
) -> Standing<'a> {
    let taking = DigestTaking::of(items, now);
    let status = taking.status;
    let (items, expired) = (taking.delivered().collect(), taking.expired.clone());
    let mut digested = Digested { items, expired, have_failed: taking.have_failed, unwritten: None };
    attempt.is_expired = digested.items.is_empty() && !digested.expired.is_empty();
    if let Some(first) = taking.items.first() {
        let sender = first.message.sender.clone();
        let text = match digests.write(&attempt.message, &taking.items).await {
            Ok(text) => text.and_then(|text| text.fits(attempt.message.channel).map(|()| text)),
            Err(error) => {
                // If it was the last attempt, all of them have failed.
                attempt.digest = Some(digested);
                return (attempt, Err(error));
            }
        };
        match text {
            Ok(text) => attempt.message.content = text,
            Err(why) => digested.unwritten = Some(why),
        }
        attempt.message.sender = sender;
    }
    attempt.digest = Some(digested);
    (attempt, Ok(Some(status)))
}

fn place(attempt: &Attempt<'_>) -> DigestPlace {
    DigestPlace { key: attempt.message.digest.unwrap_or_default(), id: attempt.message.id }
}
