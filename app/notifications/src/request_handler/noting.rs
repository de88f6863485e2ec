use std::{collections::VecDeque, sync::Arc};

use claimstream_ports::{StoreError, Verdicts, notification::StepNoted};

use super::RequestHandler;
use crate::fan_out_attempt::{FanOutResult, Then, fitting};

/// Notes what attempts have found, and gives the verdicts on their messages.
impl RequestHandler {
    /// Asks the recipients of a group.
    async fn ask<'a>(&self, group: Vec<FanOutResult<'a>>, verdicts: &dyn Verdicts) -> Vec<FanOutResult<'a>> {
        let Some(consents) = &self.consents else { return group };
        let (mut asked, unasked) = consents.ask_group(group).await;
        let again = |(attempt, error): (_, Arc<StoreError>)| self.put_off(attempt, &error, verdicts);
        asked.extend(unasked.into_iter().filter_map(again));
        asked
    }

    /// Notes what attempts have found, and gives the verdicts on their messages. One that cannot be noted is no business of the
    /// others; one that cannot be and was the last is given up, which is noted in turn.
    pub(super) async fn note(&self, group: Vec<FanOutResult<'_>>, verdicts: &dyn Verdicts) {
        let mut groups = VecDeque::from([self.ask(group, verdicts).await]);
        groups.retain(|group| !group.is_empty());
        while let Some(group) = groups.pop_front() {
            let (steps, rests): (Vec<_>, Vec<_>) = group.into_iter().map(FanOutResult::into_step).unzip();
            let noted = self.requests.note_steps(&steps).await.and_then(|noted| fitting(noted, &steps));
            let group = steps.into_iter().zip(rests).map(FanOutResult::of_step);
            match noted {
                Ok(noted) => groups.push_back(self.noted(group.zip(noted).collect(), verdicts).await),
                Err(error) if group.len() > 1 && !error.is_about_the_store() => {
                    groups.extend(group.map(|found| vec![found]));
                }
                Err(error) => {
                    let unnoted = group.filter_map(|found| self.unnoted(found, &error, verdicts));
                    groups.push_back(unnoted.collect());
                }
            }
            groups.retain(|group| !group.is_empty());
        }
    }

    /// Settles the records that have lapsed and gives verdicts; answers what is given up.
    async fn noted<'a>(
        &self,
        group: Vec<(FanOutResult<'a>, StepNoted)>,
        verdicts: &dyn Verdicts,
    ) -> Vec<FanOutResult<'a>> {
        let lapsed: Vec<_> = group.iter().map(|(found, noted)| found.lapsed(noted)).collect();
        let settled = self.conclude_each(&lapsed).await;
        let mut given_up = Vec::new();
        for ((found, noted), settled) in group.into_iter().zip(settled) {
            match settled {
                Err(error) => given_up.extend(self.put_off(found.attempt, &error, verdicts)),
                Ok(()) => {
                    let (index, number) = (found.attempt.index, found.attempt.claimed.attempt);
                    verdicts.give(index, found.verdict(noted, self.config.retry.is_last(number)));
                }
            }
        }
        given_up
    }

    /// What could not be noted is tried again, or given up; an end that could not be noted comes once more.
    fn unnoted<'a>(
        &self,
        found: FanOutResult<'a>,
        error: &StoreError,
        verdicts: &dyn Verdicts,
    ) -> Option<FanOutResult<'a>> {
        let Then::Bury(reason) = found.then else { return self.put_off(found.attempt, error, verdicts) };
        let verdict = FanOutResult::unrecorded(&found.attempt, reason, error, self.config.retry.max_attempts);
        verdicts.give(found.attempt.index, verdict);
        None
    }
}
