use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

use claimstream_domain::{Claimed, MessageId, OrderingKey, RunPlace};

use super::held_back::HeldBack;
use crate::in_flight::Ticket;

/// The groups that one stream has in hand: of each key one message may be yielded, and those behind it are kept back.
///
/// The next one follows when the settlement of the one before has joined a batch, if that ends it for good. Otherwise all that
/// is kept back of the key goes back to the store, and what is claimed behind it meanwhile does too: the store has the key
/// begin again where it was.
#[derive(Default)]
pub(crate) struct KeyGroups(Mutex<State>);

#[derive(Default)]
struct State {
    groups: HashMap<OrderingKey, KeyGroup>,
    /// The messages that are or were first in their groups, until it is known how they ended: the key, and the group's
    /// [`begun`](KeyGroup::begun), because a group of the key may have ended, and another begun, before that is known.
    keys: HashMap<Ticket, (OrderingKey, Ticket)>,
    /// What may be yielded now.
    freed: VecDeque<WaitingMessage>,
    /// What goes back.
    revoked: Vec<WaitingMessage>,
    /// How much is kept back.
    kept: HeldBack,
    /// Whether a message has come that is in a group.
    has_met_groups: bool,
    stream: Option<Waker>,
}

type WaitingMessage = (Ticket, Claimed);

/// What a stream has in hand of one key.
struct KeyGroup {
    /// The message that it began with.
    begun: Ticket,
    /// The message that the next one has to be behind.
    last: (MessageId, Ticket),
    /// The one that may be yielded, or is out.
    first: Option<(MessageId, Ticket)>,
    held: VecDeque<WaitingMessage>,
}

impl KeyGroup {
    fn kept(&self) -> HeldBack {
        self.held.iter().map(|(_, claimed)| HeldBack::of(claimed)).sum()
    }
}

/// What becomes of a message that was claimed.
pub(crate) enum Admitted {
    /// It may be yielded.
    Ready(Claimed),
    /// It is kept back until those before it have been settled.
    Held,
    /// It is behind a message that is not in hand any more, and goes back.
    GoesBack(Claimed),
}

impl KeyGroups {
    /// Takes in a message that was claimed.
    pub(crate) fn admit(&self, ticket: Ticket, claimed: Claimed) -> Admitted {
        let Some(key) = claimed.message.ordering_key.clone().filter(|_| claimed.place != RunPlace::Alone)
        else {
            return Admitted::Ready(claimed);
        };
        let mut state = self.state();
        state.has_met_groups = true;
        let last = (claimed.message.id, ticket);
        let RunPlace::Behind(before) = claimed.place else {
            let group = KeyGroup { begun: ticket, last, first: Some(last), held: VecDeque::new() };
            let old = state.groups.insert(key.clone(), group);
            state.revoke(old);
            state.keys.insert(ticket, (key, ticket));
            return Admitted::Ready(claimed);
        };
        let State { groups, keys, kept, .. } = &mut *state;
        match groups.get_mut(&key).filter(|group| group.last.0 == before) {
            None => Admitted::GoesBack(claimed),
            Some(group) if group.first.is_none() => {
                (group.last, group.first) = (last, Some(last));
                keys.insert(ticket, (key, group.begun));
                Admitted::Ready(claimed)
            }
            Some(group) => {
                group.last = last;
                *kept = kept.and(HeldBack::of(&claimed));
                group.held.push_back((ticket, claimed));
                Admitted::Held
            }
        }
    }

    /// Whether nothing in hand is in a group.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().keys.is_empty()
    }

    /// Notes that the settlement of a message has joined a batch, after which it does not come again if that is `is_final`.
    pub(crate) fn joined(&self, ticket: Ticket, is_final: bool) {
        let mut state = self.state();
        if state.keys.is_empty() {
            return;
        }
        if !is_final {
            state.stop(ticket);
        } else if let Some((key, begun)) = state.keys.get(&ticket).cloned()
            && let Some(group) = state
                .groups
                .get_mut(&key)
                .filter(|group| group.first.is_some_and(|(_, first)| first == ticket))
        {
            let next = group.held.pop_front();
            group.first = next.as_ref().map(|(ticket, claimed)| (claimed.message.id, *ticket));
            if let Some((ticket, claimed)) = next {
                state.kept = state.kept.without(HeldBack::of(&claimed));
                state.keys.insert(ticket, (key, begun));
                state.freed.push_back((ticket, claimed));
            }
        }
        Self::wake(state);
    }

    /// Notes how a settlement has ended. If it was not accepted, what is behind it goes back.
    pub(crate) fn concluded(&self, ticket: Ticket, accepted: bool) {
        let mut state = self.state();
        if state.keys.is_empty() {
            return;
        }
        if !accepted {
            state.stop(ticket);
        }
        state.keys.remove(&ticket);
        Self::wake(state);
    }

    /// Takes what may be yielded since this was last asked; the task is woken when there is more, or something is to go back.
    pub(crate) fn take_freed(&self, cx: &mut Context<'_>) -> VecDeque<(Ticket, Claimed)> {
        let mut state = self.state();
        if state.stream.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            state.stream = Some(cx.waker().clone());
        }
        mem::take(&mut state.freed)
    }

    /// Whether there is something that may be yielded now.
    pub(crate) fn has_freed(&self) -> bool {
        !self.state().freed.is_empty()
    }

    /// Takes what is to go back.
    pub(crate) fn take_revoked(&self) -> Vec<(Ticket, Claimed)> {
        mem::take(&mut self.state().revoked)
    }

    /// Takes all that was not yielded, and knows of no group any more.
    pub(crate) fn take_all(&self) -> Vec<(Ticket, Claimed)> {
        let mut state = self.state();
        for (_, group) in mem::take(&mut state.groups) {
            state.revoke(Some(group));
        }
        state.keys.clear();
        let freed = mem::take(&mut state.freed);
        freed.into_iter().chain(mem::take(&mut state.revoked)).collect()
    }

    /// Takes what is overdue, all that is behind it, and what is behind these `others` that are.
    pub(crate) fn take_overdue(
        &self,
        is_overdue: impl Fn(Ticket) -> bool,
        others: impl Iterator<Item = Ticket>,
    ) -> Vec<(Ticket, Claimed)> {
        let mut state = self.state();
        others.for_each(|ticket| state.stop(ticket));
        let freed = mem::take(&mut state.freed);
        let (overdue, left): (VecDeque<_>, _) =
            freed.into_iter().partition(|(ticket, _)| is_overdue(*ticket));
        state.freed = left;
        overdue.iter().for_each(|(ticket, _)| state.stop(*ticket));
        let State { groups, kept, revoked, .. } = &mut *state;
        for group in
            groups.values_mut().filter(|group| group.held.iter().any(|(ticket, _)| is_overdue(*ticket)))
        {
            // The one that is out may take long yet; what is claimed behind it again is kept back again.
            group.last = group.first.unwrap_or(group.last);
            *kept = kept.without(group.kept());
            revoked.extend(group.held.drain(..));
        }
        overdue.into_iter().chain(mem::take(&mut state.revoked)).collect()
    }

    /// The tickets of all that is kept here.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        let state = self.state();
        let held = state.groups.values().flat_map(|group| &group.held);
        held.chain(&state.freed).chain(&state.revoked).map(|(ticket, _)| *ticket).collect()
    }

    /// How many messages are kept back.
    pub(crate) fn held(&self) -> usize {
        self.state().kept.messages
    }

    /// How much is kept back; none as long as no message in a group has come.
    pub(crate) fn kept(&self) -> Option<HeldBack> {
        let state = self.state();
        state.has_met_groups.then_some(state.kept)
    }

    /// Forgets groups of which nothing is in hand any more; to be called between two claims, because one that was sent before may
    /// still bring what is behind them.
    pub(crate) fn forget_ended(&self) {
        let State { groups, keys, .. } = &mut *self.state();
        groups.retain(|_, group| group.first.is_some() || keys.contains_key(&group.last.1));
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        let waiting = !state.freed.is_empty() || !state.revoked.is_empty();
        let waker = if waiting { state.stream.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the group that a message was in: it may come again.
    fn stop(&mut self, ticket: Ticket) {
        if let Some((key, begun)) = self.keys.remove(&ticket)
            && self.groups.get(&key).is_some_and(|group| group.begun == begun)
        {
            let group = self.groups.remove(&key);
            if let Some((_, next)) =
                group.as_ref().and_then(|group| group.first).filter(|(_, next)| *next != ticket)
            {
                self.take_back_freed(next);
            }
            self.revoke(group);
        }
    }

    /// Sends a message back that may be yielded and was not.
    fn take_back_freed(&mut self, ticket: Ticket) {
        if let Some(at) = self.freed.iter().position(|(freed, _)| *freed == ticket) {
            self.keys.remove(&ticket);
            self.revoked.extend(self.freed.remove(at));
        }
    }

    fn revoke(&mut self, group: Option<KeyGroup>) {
        let Some(group) = group else { return };
        self.kept = self.kept.without(group.kept());
        self.revoked.extend(group.held);
    }
}
