use std::slice;

use tokio::sync::OwnedMutexGuard;

use crate::strategy::shard_lease::{
    claim::{claiming::Claiming, due::Due, payloads::Size, pick::Picked, visit::Visit},
    leases::ShardLease,
    shard_key::ShardKey,
    shard_state::{LeaseStatus, Noted, ShardState},
    turn::Turn,
};

/// A shard that a claim takes from together with others.
pub(super) struct Place {
    pub(super) visit: Visit,
    pub(super) state: OwnedMutexGuard<ShardState>,
    pub(super) due: Due,
    /// The most rows to read of it, those in flight included.
    pub(super) limit: usize,
    pub(super) picked: Picked,
    /// Whether nothing that is due there was left out.
    pub(super) is_all: bool,
    pub(super) noted: Noted,
    /// The fence that the write of its lease leaves.
    pub(super) fence: i64,
    _turn: Turn,
}

/// How a claim goes on in a shard that was read together with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// What was picked is handed out once the lease is written.
    Taken,
    /// Nothing is to be had there for now.
    Short,
    /// Something in it needs a visit of its own.
    Alone,
}

/// How much the claim may still take.
pub(super) struct Room {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

impl Claiming<'_> {
    /// The turn and the state of a shard, if they are to be had without a wait, and its lease is known to be ours or free and was
    /// not found locked lately.
    pub(super) async fn enter(&self, key: ShardKey) -> Option<Place> {
        let turn = self.store.owned.turn_now(slice::from_ref(&key))?;
        let state = self.store.owned.state(&key).await;
        let is_plain = state.status == LeaseStatus::Usable
            && state.in_flight.len() <= ShardLease::LISTED
            && !self.store.was_locked_lately(&key);
        is_plain.then(|| Place {
            visit: Visit::of(key),
            state,
            due: Due::default(),
            limit: 0,
            picked: Picked::default(),
            is_all: false,
            noted: Noted::default(),
            fence: 0,
            _turn: turn,
        })
    }

    /// Picks what is taken from a shard that was read: its `share` at most, and no more than there is room for.
    pub(super) fn judge(&self, place: &mut Place, share: usize, room: &mut Room) -> Fate {
        let Place { state, due, limit, .. } = place;
        let Some(fence) = due.fence() else {
            // Nothing is due, or another instance has it: the next look shows.
            state.status = LeaseStatus::Unknown;
            return Fate::Short;
        };
        if !state.agrees(fence, due.now) {
            if fence > state.fence {
                state.lose();
            }
            return Fate::Short;
        }
        let is_whole = due.rows < *limit;
        if is_whole {
            // A message that is not there any more was ended by another instance.
            state.in_flight.retain(|id, entry| entry.due > due.now || due.seen.contains(id));
        }
        let reach = share.min(room.messages);
        if reach == 0 || due.has_twins || due.candidates.iter().any(|one| one.suspect) {
            return Fate::Alone;
        }
        let picked = self.picked(state, due, reach);
        let bytes = due.payloads.total(&picked);
        let is_left_out = |size| !due.payloads.left_out(&picked, size).is_empty();
        let is_heavy = is_left_out(Size::Known) || is_left_out(Size::Unknown) || bytes > room.bytes;
        if is_heavy || !picked.expired.is_empty() {
            return Fate::Alone;
        }
        if picked.taken.is_empty() {
            return if is_whole { Fate::Short } else { Fate::Alone };
        }
        place.is_all = is_whole && !due.some_wait(state, &picked);
        room.messages -= picked.taken.len();
        room.bytes -= bytes;
        place.picked = picked;
        Fate::Taken
    }

    /// How many bytes of payloads the claim may still bring.
    pub(super) fn bytes_left(&self) -> usize {
        let taken = self.collected.taken.iter().map(|claimed| claimed.message.payload.bytes().len());
        self.request.budget.bytes().saturating_sub(taken.sum())
    }
}
