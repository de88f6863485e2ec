use std::sync::Arc;

use claimstream_domain::{ClaimId, Disposition, Event, MessageId, Settled};
use futures::future::{OptionFuture, join, join_all};

use super::{
    claim_handle::ClaimHandle,
    pending::{Others, Outcome, Outcomes},
    settler::Settler,
    waiting::Waiting,
};
use crate::{error::RelayError, in_flight::Turn, report::DeadLetterClass};

/// A claim that is to be ended, and the next state of its message.
pub(crate) struct Ending {
    pub(crate) handle: ClaimHandle,
    pub(crate) disposition: Disposition,
    /// Reported if that makes the message a dead letter.
    pub(crate) class: DeadLetterClass,
}

/// How claims ended that were ended together.
#[derive(Default)]
pub(crate) struct Together {
    pub(crate) accepted: usize,
    pub(crate) superseded: Vec<MessageId>,
    pub(crate) failed: Vec<(MessageId, RelayError)>,
}

/// A claim whose settlement is under way.
struct UnderWay {
    handle: ClaimHandle,
    claim: ClaimId,
    event: Event,
}

/// Ends claims of one stream together. Their settlements join a batch at once; one that a renewal stands before joins later, and
/// keeps no other waiting.
pub(crate) async fn end_together(settler: Arc<Settler>, endings: Vec<Ending>) -> Together {
    let (waiting, under_way, left) = begin(&settler, endings);
    let later = join_all(left.into_iter().map(|Ending { handle, disposition, class }| async move {
        (handle.message(), handle.settle_as(disposition, class).await)
    }));
    let (others, later) = join(OptionFuture::from(waiting), later).await;
    let mut together = Together::default();
    let outcomes = one_for_each(others.unwrap_or_default());
    for (UnderWay { handle, claim, event }, outcome) in under_way.into_iter().zip(outcomes) {
        together.count(handle.message(), handle.conclude(claim, event, outcome));
    }
    later.into_iter().for_each(|(message, settled)| together.count(message, settled));
    together
}

/// Begins the settlements of the claims; those that something stands before come back as they were.
fn begin(settler: &Settler, endings: Vec<Ending>) -> (Option<Waiting>, Vec<UnderWay>, Vec<Ending>) {
    let turns = settler.open_claims.begin_settling_all(endings.iter().map(|ending| ending.handle.ticket()));
    let outcomes = Outcomes::of(turns.iter().filter(|turn| matches!(turn, Turn::Settle(..))).count());
    let (mut pending, mut under_way) = (Vec::with_capacity(turns.len()), Vec::with_capacity(turns.len()));
    let mut left = Vec::new();
    for (ending, turn) in endings.into_iter().zip(turns) {
        let Turn::Settle(receipt, deadline) = turn else {
            left.push(ending);
            continue;
        };
        let Ending { handle, disposition, class } = ending;
        let (claim, event) = (receipt.claim, disposition.event());
        let reply = outcomes.reply(under_way.len());
        pending.push(handle.pending(receipt, deadline, disposition, class, reply));
        under_way.push(UnderWay { handle, claim, event });
    }
    let waiting = (!pending.is_empty()).then(|| settler.settle_all(pending.into_iter(), outcomes));
    (waiting, under_way, left)
}

/// The outcomes in the order of the settlements; those that are not named were accepted.
fn one_for_each(mut others: Others) -> impl Iterator<Item = Outcome> {
    others.sort_unstable_by_key(|(number, _)| *number);
    let mut others = others.into_iter().peekable();
    (0..).map(move |number| {
        others.next_if(|(other, _)| *other == number).map_or(Ok(Settled::Accepted), |(_, outcome)| outcome)
    })
}

impl Together {
    fn count(&mut self, message: MessageId, settled: Result<Settled, RelayError>) {
        match settled {
            Ok(Settled::Accepted) => self.accepted += 1,
            Ok(Settled::Superseded | Settled::Unknown) => self.superseded.push(message),
            Err(error) => self.failed.push((message, error)),
        }
    }
}
