use claimstream_domain::{Disposition, QueueName, Settled, Settlement};
use claimstream_ports::{Measured, SettledAs};

/// How many settlements of one queue had which outcome.
pub(crate) struct SettledCounts<'a> {
    queue: Option<&'a QueueName>,
    /// A place for each outcome, in the order of [`OUTCOMES`].
    counts: [usize; OUTCOMES.len()],
}

const OUTCOMES: [SettledAs; 6] = [
    SettledAs::Done,
    SettledAs::Retried,
    SettledAs::Postponed,
    SettledAs::Dead,
    SettledAs::Returned,
    SettledAs::Superseded,
];

impl<'a> SettledCounts<'a> {
    /// Counts settlements of one queue by their outcomes; one that the store cannot say anything about yet is left out.
    pub(crate) fn of(settlements: &'a [Settlement], settled: impl Iterator<Item = Settled>) -> Self {
        let queue = settlements.first().map(|first| &first.receipt.queue);
        let mut counts = [0; OUTCOMES.len()];
        for outcome in settlements.iter().zip(settled).filter_map(|(one, settled)| outcome(one, settled)) {
            let place = OUTCOMES.iter().zip(&mut counts).find(|(known, _)| **known == outcome);
            place.into_iter().for_each(|(_, count)| *count += 1);
        }
        Self { queue, counts }
    }

    /// Hands out a measurement for each outcome that was had.
    pub(crate) fn each(&self, mut measure: impl FnMut(Measured<'a>)) {
        let Some(queue) = self.queue else { return };
        for (outcome, messages) in OUTCOMES.into_iter().zip(self.counts).filter(|(_, messages)| *messages > 0)
        {
            measure(Measured::Settled { queue, outcome, messages });
        }
    }
}

fn outcome(settlement: &Settlement, settled: Settled) -> Option<SettledAs> {
    match (settled, &settlement.disposition) {
        (Settled::Unknown, _) => None,
        (Settled::Superseded, _) => Some(SettledAs::Superseded),
        (Settled::Accepted, Disposition::Done { .. }) => Some(SettledAs::Done),
        (Settled::Accepted, Disposition::Retry { .. }) => Some(SettledAs::Retried),
        (Settled::Accepted, Disposition::Postponed { .. }) => Some(SettledAs::Postponed),
        (Settled::Accepted, Disposition::Dead { .. }) => Some(SettledAs::Dead),
        (Settled::Accepted, Disposition::Returned) => Some(SettledAs::Returned),
    }
}
