use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Publication, Published, Reason, Verdict,
    publishing::{Confirmed, NextStep, OutagePacing, Route, Unconfirmed},
};
use claimstream_ports::{BatchHandler, Publish, Timer, Verdicts};

use crate::{broker_standing::BrokerStanding, pulse::Pulse};

/// Publishes the messages of a queue on a route, and finishes each when the broker has confirmed it.
///
/// | what happens | the message |
/// |---|---|
/// | the broker confirms it | is finished |
/// | the broker will never take it, or it lacks what its route needs | becomes a dead letter at once |
/// | its place takes nothing: it is absent or full | is sent again in place for up to 10 s if the broker confirms nothing else; then it goes back, and comes again 2 s to a minute later, by how long the place has been away; no attempt is counted |
/// | the broker confirms nothing at all | is sent again in place, up to once a second, for 10 s; then it goes back and comes again 2 to 4 s later; no attempt is counted |
/// | the broker confirms others at its place, and not this one, twice | has failed an attempt, and comes again by the retry policy |
/// | the broker confirms others at other places, and not this one, twice | goes back; no attempt is counted |
/// | one before it of its ordering key fails or goes back, and it was not sent | goes back with that one; no attempt is counted |
/// | it was not sent for another reason | goes back; no attempt is counted |
///
/// So an outage of the broker or of one of its places costs no attempts, however long it is, and a message that alone is never
/// confirmed at its place ends as a dead letter. If there is no other message meanwhile, the two cannot be distinguished, and it is tried for ever.
pub struct PublishHandler {
    broker: Arc<dyn Publish>,
    route: Route,
    timer: Arc<dyn Timer>,
    pulse: Arc<Pulse>,
}

/// A message that has no verdict yet, by its index in the batch.
struct Open {
    index: usize,
    publication: Publication,
    pacing: OutagePacing,
}

/// A message that was not confirmed.
struct Failed {
    open: Open,
    /// What had been confirmed before the call.
    before: Confirmed,
    reason: Reason,
    was_sent: bool,
    is_unavailable: bool,
}

impl PublishHandler {
    /// The first pause before messages are sent again in place, and the longest.
    const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

    /// Publishes by `broker`, which logs call `name`.
    pub fn new(name: &str, broker: Arc<dyn Publish>, route: Route, timer: Arc<dyn Timer>) -> Self {
        Self { broker, route, timer, pulse: Arc::new(Pulse::of(name)) }
    }

    /// How its broker stands, also while a pipeline has the handler.
    pub fn standing(&self) -> BrokerStanding {
        BrokerStanding { pulse: Arc::clone(&self.pulse), timer: Arc::clone(&self.timer) }
    }

    /// What is to be published of a batch; what cannot be is buried.
    fn open(&self, batch: &[Claimed], verdicts: &dyn Verdicts) -> Vec<Open> {
        let mut open = Vec::with_capacity(batch.len());
        for (index, claimed) in batch.iter().enumerate() {
            match self.route.publication(&claimed.message) {
                Ok(publication) => open.push(Open { index, publication, pacing: OutagePacing::default() }),
                Err(reason) => verdicts.give(index, Verdict::Bury { reason }),
            }
        }
        open
    }

    /// Publishes these, and gives the verdicts that the broker's answers decide; the rest is returned.
    async fn publish(&self, open: Vec<Open>, verdicts: &dyn Verdicts) -> Vec<Failed> {
        let before: Vec<Confirmed> =
            open.iter().map(|it| self.pulse.confirmed(&it.publication.place)).collect();
        let (kept, publications): (Vec<_>, Vec<_>) =
            open.into_iter().map(|it| ((it.index, it.pacing), it.publication)).unzip();
        let answers = self.broker.publish(&publications).await;
        let silent =
            std::iter::repeat_with(|| Published::unconfirmed("the adapter of the broker gave no answer"));
        let answers = answers.into_iter().chain(silent);
        let mut failed = Vec::new();
        let began = before.first().map_or(0, |confirmed| confirmed.anywhere);
        for ((((index, pacing), publication), before), answer) in
            kept.into_iter().zip(publications).zip(before).zip(answers)
        {
            let (was_sent, is_unavailable) =
                (!matches!(answer, Published::Unsent(_)), matches!(answer, Published::Unavailable(_)));
            match answer {
                Published::Confirmed => {
                    self.pulse.note_confirmed(&publication.place);
                    verdicts.give(index, Verdict::ack());
                }
                Published::Refused(reason) => verdicts.give(index, Verdict::Bury { reason }),
                Published::Unavailable(reason)
                | Published::Unconfirmed(reason)
                | Published::Unsent(reason) => {
                    let open = Open { index, publication, pacing };
                    failed.push(Failed { open, before, reason, was_sent, is_unavailable });
                }
            }
        }
        if !failed.is_empty() {
            let failed = failed.iter().map(|it| (it.open.publication.place.as_str(), &it.reason));
            self.pulse.note_silence(began, failed, self.timer.now());
        }
        failed
    }

    /// Gives the verdicts on messages that are not sent again in place, and returns the others.
    fn judge(
        &self,
        batch: &[Claimed],
        failed: Vec<Failed>,
        held: Duration,
        pause: Duration,
        verdicts: &dyn Verdicts,
    ) -> Vec<Open> {
        let (mut open, mut keys) = (Vec::new(), HashMap::new());
        for Failed { open: mut it, before, reason, was_sent, is_unavailable } in failed {
            let Some(claimed) = batch.get(it.index) else { continue };
            let place = &it.publication.place;
            let key = claimed.message.ordering_key.as_ref();
            let next = match key.and_then(|key| keys.get(key)) {
                // Brokers are sent the next message of a key when the one before is confirmed.
                Some(NextStep::Fail) => NextStep::GoBack(OutagePacing::SHORTEST),
                Some(next) => *next,
                None => {
                    let now = self.timer.now();
                    let away = match was_sent {
                        true => self.pulse.note_unconfirmed(place, &reason, is_unavailable, now),
                        false => Duration::ZERO,
                    };
                    let after = self.pulse.confirmed(place);
                    let sent = Unconfirmed { before, after, was_sent, is_unavailable, held, away, pause };
                    let next = it.pacing.after(sent);
                    if was_sent && matches!(next, NextStep::GoBack(_)) {
                        self.pulse.note_gone_back(place, &reason, now);
                    }
                    next
                }
            };
            if let Some(key) = key {
                keys.entry(key).or_insert(next);
            }
            match next {
                NextStep::Again(_) => open.push(it),
                NextStep::Fail => verdicts.give(it.index, Verdict::Nack { after: None, reason }),
                NextStep::GoBack(wait) => verdicts.give(it.index, gone_back(claimed, wait, reason)),
            }
        }
        open
    }
}

#[async_trait]
impl BatchHandler for PublishHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut open = self.open(batch, verdicts);
        let began = self.timer.now();
        let [mut pause, longest] = Self::PAUSES;
        while !open.is_empty() {
            let failed = self.publish(open, verdicts).await;
            let held = self.timer.now().saturating_sub(began);
            open = self.judge(batch, failed, held, pause, verdicts);
            if !open.is_empty() {
                self.timer.sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        }
    }
}

/// Messages that go back together come again apart, so that one that a broker breaks at is not always among the same.
fn gone_back(claimed: &Claimed, wait: Duration, reason: Reason) -> Verdict {
    let share = u32::try_from(claimed.message.id.seed(claimed.attempt) % 1000).unwrap_or_default();
    Verdict::Postpone { after: wait + wait * share / 1000, reason }
}

impl fmt::Debug for PublishHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishHandler").field("route", &self.route).finish_non_exhaustive()
    }
}
