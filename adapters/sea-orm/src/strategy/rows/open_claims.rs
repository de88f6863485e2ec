use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::{ClaimId, MessageId, Receipt, Shard};
use tokio::sync::Notify;

use crate::strategy::shared::group::Group;

/// What claims of this process have taken and not settled yet, by claim and shard.
///
/// A settlement of everything that a claim holds in a shard needs no list of ids, which the server would have to look up
/// one by one. Only claims that are known in full are noted, because such a settlement may be one statement that commits
/// itself, and must not end what no handler was given.
#[derive(Default)]
pub(crate) struct OpenClaims {
    state: Mutex<State>,
    /// Some settlement has ended.
    ended: Notify,
}

#[derive(Default)]
struct State {
    held: HashMap<(ClaimId, Shard), HashSet<MessageId>>,
    /// The messages that are being settled at this moment.
    ending: HashSet<(ClaimId, MessageId)>,
    order: VecDeque<(ClaimId, Shard)>,
}

impl OpenClaims {
    /// Claims that are never settled are forgotten when so many others have come after them.
    const MOST: usize = 1024;

    /// Notes a message that a claim has taken.
    pub(crate) fn note(&self, receipt: &Receipt) {
        let (mut state, at) = (self.state(), (receipt.claim, receipt.shard));
        if !state.held.contains_key(&at) {
            state.order.push_back(at);
        }
        state.held.entry(at).or_default().insert(receipt.message);
        while state.order.len() > Self::MOST {
            if let Some(oldest) = state.order.pop_front() {
                state.held.remove(&oldest);
            }
        }
    }

    /// Whether a group is all that its claim still holds in the shard, each message once.
    pub(crate) fn is_whole(&self, group: &Group<'_>) -> bool {
        let (claim, shard, ids) = group.claimed();
        self.state()
            .held
            .get(&(claim, shard))
            .is_some_and(|held| held.len() == ids.len() && has_each(held, ids))
    }

    /// Whether the claim of a group still holds all of it, each message once: this process has taken it and settled none of it.
    pub(crate) fn holds(&self, group: &Group<'_>) -> bool {
        let (claim, shard, ids) = group.claimed();
        self.state().held.get(&(claim, shard)).is_some_and(|held| has_each(held, ids))
    }

    /// Marks claims as being settled until the answer is dropped; waits while another settlement has one of them.
    ///
    /// After a statement that commits itself, only missing rows show which claims it has ended, so no other settlement may
    /// move it meanwhile.
    pub(crate) async fn end<'a>(&self, receipts: impl Iterator<Item = &'a Receipt>) -> Ending<'_> {
        let claims: HashSet<_> = receipts.map(|receipt| (receipt.claim, receipt.message)).collect();
        loop {
            // Made before the look, so that it notices each end after it.
            let ended = self.ended.notified();
            if self.mark(&claims) {
                return Ending { open: self, claims };
            }
            ended.await;
        }
    }

    fn mark(&self, claims: &HashSet<(ClaimId, MessageId)>) -> bool {
        let mut state = self.state();
        let is_free = claims.iter().all(|claim| !state.ending.contains(claim));
        if is_free {
            state.ending.extend(claims);
        }
        is_free
    }

    /// Forgets a message that has been settled.
    pub(crate) fn settled(&self, receipt: &Receipt) {
        let (mut state, at) = (self.state(), (receipt.claim, receipt.shard));
        let Some(held) = state.held.get_mut(&at) else { return };
        held.remove(&receipt.message);
        if held.is_empty() {
            state.held.remove(&at);
            state.order.retain(|known| *known != at);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Claims that are being settled.
pub(crate) struct Ending<'a> {
    open: &'a OpenClaims,
    claims: HashSet<(ClaimId, MessageId)>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut state = self.open.state();
        self.claims.iter().for_each(|claim| {
            state.ending.remove(claim);
        });
        drop(state);
        self.open.ended.notify_waiters();
    }
}

fn has_each(held: &HashSet<MessageId>, ids: &[MessageId]) -> bool {
    ids.iter().collect::<HashSet<_>>().len() == ids.len() && ids.iter().all(|id| held.contains(id))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use claimstream_domain::{InstanceId, Locator, QueueName};
    use futures::poll;
    use uuid::Uuid;

    use super::*;

    fn receipt(claim: u64, message: u128) -> Receipt {
        Receipt {
            message: MessageId::new(Uuid::from_u128(message)),
            queue: QueueName::new("orders").unwrap(),
            shard: Shard::from_number(3),
            claim: ClaimId::new(InstanceId(1), claim),
            locator: Locator(1),
        }
    }

    #[test]
    fn only_all_of_a_claim_is_whole() {
        let open = OpenClaims::default();
        let of = |claim, messages: &[u128]| -> Vec<Receipt> {
            messages.iter().map(|message| receipt(claim, *message)).collect()
        };
        let group = |receipts: &[Receipt], test: fn(&OpenClaims, &Group<'_>) -> bool| {
            let groups = Group::of(receipts.iter());
            assert_eq!(groups.len(), 1);
            test(&open, &groups[0])
        };
        let is_whole = |claim, messages: &[u128]| group(&of(claim, messages), OpenClaims::is_whole);
        let holds = |claim, messages: &[u128]| group(&of(claim, messages), OpenClaims::holds);
        of(7, &[1, 2, 3]).iter().for_each(|one| open.note(one));
        assert!(is_whole(7, &[1, 2, 3]) && !is_whole(7, &[1, 2]));
        assert!(holds(7, &[1, 2]) && !holds(7, &[1, 1]));
        assert!(!is_whole(7, &[1, 2, 2]) && !is_whole(7, &[1, 2, 9]) && !is_whole(8, &[1, 2, 3]));
        open.settled(&receipt(7, 1));
        assert!(is_whole(7, &[2, 3]) && !holds(7, &[1, 2]));
    }

    /// Guard: the end of a settlement notifies those that wait for it | `drop`: no `notify_waiters`
    #[tokio::test]
    async fn a_second_settlement_of_a_claim_begins_when_the_first_has_ended() {
        let open = OpenClaims::default();
        let (one, other) = (receipt(7, 1), receipt(7, 2));
        let first = open.end([&one].into_iter()).await;
        let mut second = pin!(open.end([&one, &other].into_iter()));
        assert!(poll!(&mut second).is_pending());
        drop(open.end([&other].into_iter()).await);
        assert!(poll!(&mut second).is_pending());
        drop(first);
        assert!(poll!(&mut second).is_ready(), "it is notified");
    }
}
