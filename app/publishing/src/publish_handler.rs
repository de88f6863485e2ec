use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Publication, Published, Reason, Verdict, publishing::Route};
use claimstream_ports::{BatchHandler, Publish, Timer, Verdicts};

use crate::{
    broker_standing::BrokerStanding,
    patience::{Next, Patience},
    pulse::Pulse,
};

/// Publishes the messages of a queue on a route, and finishes each when the broker has confirmed it.
///
/// | what happens | the message |
/// |---|---|
/// | the broker confirms it | is finished |
/// | the broker will never take it, or it lacks what its route needs | becomes a dead letter at once |
/// | the broker confirms nothing at all | is sent again in place, up to once a second, for 10 s; then it goes back and comes again 2 to 4 s later; no attempt is counted |
/// | the broker confirms others, and not this one, twice | has failed an attempt, and comes again by the retry policy |
/// | one before it of its ordering key fails so, and it was not sent | goes back and comes again 2 to 4 s later; no attempt is counted |
///
/// So an outage of the broker costs no attempts, however long it is, and a message that alone is never confirmed ends as a dead
/// letter. If there is no other message meanwhile, the two cannot be told apart, and it is tried for ever.
pub struct PublishHandler {
    broker: Arc<dyn Publish>,
    route: Route,
    timer: Arc<dyn Timer>,
    pulse: Arc<Pulse>,
}

/// Messages that have no verdict yet, by their indices in the batch, and what they are as publications.
struct Pending {
    indices: Vec<usize>,
    publications: Vec<Publication>,
}

impl PublishHandler {
    /// How much later a message comes again that went back, at least, and at most twice that.
    const LATER: Duration = Duration::from_secs(2);

    /// Publishes by `broker`, which logs call `name`.
    pub fn new(name: &str, broker: Arc<dyn Publish>, route: Route, timer: Arc<dyn Timer>) -> Self {
        Self { broker, route, timer, pulse: Arc::new(Pulse::of(name)) }
    }

    /// How its broker stands, also while a pipeline has the handler.
    pub fn standing(&self) -> BrokerStanding {
        BrokerStanding { pulse: Arc::clone(&self.pulse), timer: Arc::clone(&self.timer) }
    }

    /// What is to be published of a batch; what cannot be is buried.
    fn pending(&self, batch: &[Claimed], verdicts: &dyn Verdicts) -> Pending {
        let mut pending = Pending::with_capacity(batch.len());
        for (index, claimed) in batch.iter().enumerate() {
            match self.route.publication(&claimed.message) {
                Ok(publication) => pending.push(index, publication),
                Err(reason) => verdicts.give(index, Verdict::Bury { reason }),
            }
        }
        pending
    }

    /// Publishes what is pending, and gives the verdicts that the broker's answers decide; the rest is still pending, with the reasons.
    async fn publish(&self, pending: Pending, verdicts: &dyn Verdicts) -> (Pending, Vec<Reason>) {
        let answers = self.broker.publish(&pending.publications).await;
        let silent =
            std::iter::repeat_with(|| Published::unconfirmed("the adapter of the broker gave no answer"));
        let (mut left, mut reasons) = (Pending::with_capacity(0), Vec::new());
        let mut confirmed = 0;
        for ((index, publication), answer) in pending.into_iter().zip(answers.into_iter().chain(silent)) {
            match answer {
                Published::Confirmed => {
                    confirmed += 1;
                    verdicts.give(index, Verdict::ack());
                }
                Published::Refused(reason) => verdicts.give(index, Verdict::Bury { reason }),
                Published::Unconfirmed(reason) => {
                    left.push(index, publication);
                    reasons.push(reason);
                }
            }
        }
        self.pulse.note(confirmed, reasons.first(), self.timer.now());
        (left, reasons)
    }
}

#[async_trait]
impl BatchHandler for PublishHandler {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let mut pending = self.pending(batch, verdicts);
        let mut patience = Patience::since(self.timer.now());
        while !pending.indices.is_empty() {
            let before = self.pulse.confirmed();
            let (left, reasons) = self.publish(pending, verdicts).await;
            pending = left;
            if pending.indices.is_empty() {
                return;
            }
            let verdict: fn(&Claimed, Reason) -> Verdict =
                match patience.after(self.timer.now(), (before, self.pulse.confirmed())) {
                    Next::Again(pause) => {
                        self.timer.sleep(pause).await;
                        continue;
                    }
                    Next::Fail => failed,
                    Next::GoBack => gone_back,
                };
            let left = pending.indices.into_iter().zip(reasons);
            let mut keys = HashSet::new();
            for (claimed, index, reason) in left.filter_map(|(at, why)| Some((batch.get(at)?, at, why))) {
                // Brokers are sent the next message of a key when the one before is confirmed.
                let is_held_up = claimed.message.ordering_key.as_ref().is_some_and(|key| !keys.insert(key));
                let verdict = if is_held_up { gone_back } else { verdict };
                verdicts.give(index, verdict(claimed, reason));
            }
            return;
        }
    }
}

/// A message that was sent and not confirmed, though the broker is there.
fn failed(_: &Claimed, reason: Reason) -> Verdict {
    Verdict::Nack { after: None, reason }
}

/// Messages that go back together come again apart, so that one that a broker breaks at is not always in the company of the same.
fn gone_back(claimed: &Claimed, reason: Reason) -> Verdict {
    let share = u32::try_from(claimed.message.id.seed(claimed.attempt) % 1000).unwrap_or_default();
    Verdict::Postpone { after: PublishHandler::LATER + PublishHandler::LATER * share / 1000, reason }
}

impl Pending {
    fn with_capacity(capacity: usize) -> Self {
        Self { indices: Vec::with_capacity(capacity), publications: Vec::with_capacity(capacity) }
    }

    fn push(&mut self, index: usize, publication: Publication) {
        self.indices.push(index);
        self.publications.push(publication);
    }

    fn into_iter(self) -> impl Iterator<Item = (usize, Publication)> {
        self.indices.into_iter().zip(self.publications)
    }
}

impl fmt::Debug for PublishHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishHandler").field("route", &self.route).finish_non_exhaustive()
    }
}
