use uuid::Uuid;

use super::{SagaId, SagaOrder, SagaOrderKind, SagaState};
use crate::{Invalid, MessageId, MessageState, NewMessage, Payload, QueueName};

/// What became of a person's wish that a saga is continued at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SagaContinued {
    /// This message was enqueued, due at once; it does what the saga's check message does.
    Asked(MessageId),
    /// Nothing was done: this message of the saga is due, or a relay has it.
    UnderWay(MessageId),
    /// Nothing was done: as many messages as there may be wait for their next attempt, this one among them.
    Waiting(MessageId),
    /// Nothing was done: this message of the saga is a dead letter, and reviving it continues the saga.
    Dead(MessageId),
    /// Nothing was done: the messages that continue it have been handled or purged, and their ids are still remembered.
    UsedUp,
    /// Nothing was done: the saga has ended.
    Over(SagaState),
    /// Nothing was done: the saga ended so long ago that its rows are deleted.
    Forgotten,
    /// Nothing was done: no saga of this scope and id was begun in this database.
    Unknown,
}

/// What is to be done about such a wish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SagaContinuation {
    /// Enqueue the message with this number. If its id is known by then, it is due because another run has done the same, or it is used.
    Enqueue(SagaNudge),
    /// Nothing, for this reason.
    Nothing(SagaContinued),
}

/// One of the messages by which people continue a saga.
///
/// Each has an id made from the saga's, so that two people who ask at the same time enqueue one message. There are few of them, because each is
/// tried again until the saga has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SagaNudge(u8);

impl SagaNudge {
    /// All of them.
    pub const ALL: [Self; 3] = [Self(1), Self(2), Self(3)];

    /// Its id for a saga of a kind, which its scope names.
    pub fn message_id(self, scope: &str, saga: SagaId) -> MessageId {
        saga.message_id(scope, &format!("continue {}", self.0))
    }
}

impl SagaId {
    /// The messages that the saga of this scope and id may have, with the names of what they ask for: those that continue it are called
    /// `continue`.
    pub fn messages(self, scope: &str) -> Vec<(&'static str, MessageId)> {
        let orders = SagaOrderKind::ALL.into_iter().map(|kind| (kind.name(), kind.message_id(scope, self)));
        orders.chain(SagaNudge::ALL.map(|nudge| ("continue", nudge.message_id(scope, self)))).collect()
    }

    /// The scope is a part of it: sagas of several kinds may have one id, and each has messages of its own.
    pub(super) fn message_id(self, scope: &str, what: &str) -> MessageId {
        MessageId::new(Uuid::new_v5(&self.uuid(), format!("{scope}\n{what}").as_bytes()))
    }
}

impl SagaContinuation {
    /// The one place that decides about the saga of this scope and id. `state` is that of the saga's row; `messages` stand as those of
    /// [`SagaId::messages`] do, in their order, `None` where there is none. `used` are those whose ids are remembered although they stand
    /// nowhere: they were handled, or purged.
    ///
    /// A saga may be continued at any time and by several at once, because its rows decide. So what is decided here saves work.
    pub fn of(
        (scope, saga): (&str, SagaId),
        state: Option<SagaState>,
        messages: &[Option<MessageState>],
        used: &[MessageId],
    ) -> Self {
        if let Some(over) = state.filter(|state| state.is_over()) {
            return Self::Nothing(SagaContinued::Over(over));
        }
        let all = saga.messages(scope);
        let stands = |id: MessageId| {
            let at = all.iter().position(|(_, known)| *known == id);
            at.and_then(|at| messages.get(at)).and_then(Option::as_ref)
        };
        let first = |is: fn(&MessageState) -> bool| {
            all.iter().map(|(_, id)| *id).find(|id| stands(*id).is_some_and(is))
        };
        if let Some(id) =
            first(|state| matches!(state, MessageState::Due { .. } | MessageState::Leased { .. }))
        {
            return Self::Nothing(SagaContinued::UnderWay(id));
        }
        if let Some(id) = first(|state| matches!(state, MessageState::Dead { .. })) {
            return Self::Nothing(SagaContinued::Dead(id));
        }
        let is_free = |id: MessageId| stands(id).is_none() && !used.contains(&id);
        if let Some(free) = SagaNudge::ALL.into_iter().find(|nudge| is_free(nudge.message_id(scope, saga))) {
            return Self::Enqueue(free);
        }
        let mut nudges = SagaNudge::ALL.into_iter().map(|nudge| nudge.message_id(scope, saga));
        let waiting = nudges.find(|id| stands(*id).is_some());
        Self::Nothing(waiting.map_or(SagaContinued::UsedUp, SagaContinued::Waiting))
    }
}

impl SagaOrder {
    /// The message by which a person continues the saga, due at once; relays of every version know what it asks for, a check.
    pub fn nudge(self, queue: QueueName, nudge: SagaNudge) -> Result<NewMessage, Invalid> {
        let order = Self { order: SagaOrderKind::Check, ..self };
        let text = serde_json::to_vec(&order);
        let text = text.map_err(|e| Invalid::Malformed { what: "saga order", why: e.to_string() })?;
        Ok(NewMessage::new(nudge.message_id(queue.as_str(), order.saga), queue, Payload::json(text)))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, time::Duration};

    use super::*;

    const WAIT: Duration = Duration::from_secs(60);
    const SCOPE: &str = "saga:transfer";

    fn saga() -> SagaId {
        SagaId::new(Uuid::from_u128(7))
    }

    /// The decision for an open saga whose messages stand so: new, check, roll_back, and three that continue it.
    fn decided(messages: [Option<MessageState>; 6]) -> SagaContinuation {
        SagaContinuation::of((SCOPE, saga()), Some(SagaState::Init), &messages, &[])
    }

    #[test]
    fn every_message_of_a_saga_has_an_id_of_its_own() {
        let messages = saga().messages(SCOPE);
        let of_another_kind = saga().messages("saga:refund");
        let ids = messages.iter().chain(&of_another_kind).map(|(_, id)| *id);
        assert_eq!(ids.collect::<BTreeSet<_>>().len(), 12);
        assert_eq!(messages[1], ("check", SagaOrderKind::Check.message_id(SCOPE, saga())));
    }

    #[test]
    fn a_saga_that_waits_gets_a_message_and_the_next_wish_another_one_until_there_are_three() {
        let waits = || Some(MessageState::Scheduled { due_in: WAIT });
        let again = || Some(MessageState::Retrying { due_in: WAIT });
        use SagaContinuation::{Enqueue, Nothing};
        assert_eq!(decided([None, waits(), None, None, None, None]), Enqueue(SagaNudge(1)));
        assert_eq!(decided([const { None }; 6]), Enqueue(SagaNudge(1)));
        assert_eq!(decided([None, waits(), None, again(), None, None]), Enqueue(SagaNudge(2)));
        assert_eq!(decided([None, waits(), None, None, again(), None]), Enqueue(SagaNudge(1)));
        let waiting = SagaContinued::Waiting(SagaNudge(1).message_id(SCOPE, saga()));
        assert_eq!(decided([None, waits(), None, again(), again(), again()]), Nothing(waiting));
    }

    /// Guard: nothing is enqueued for a saga while a relay has a message of it | no `Leased`
    #[test]
    fn nothing_is_enqueued_with_a_run_a_dead_letter_or_an_end() {
        let nothing = SagaContinuation::Nothing;
        let check = SagaOrderKind::Check.message_id(SCOPE, saga());
        let leased = || Some(MessageState::Leased { ends_in: WAIT, holder: None });
        let due = || Some(MessageState::Due { since: WAIT });
        let dead = || Some(MessageState::Dead { since: WAIT });
        for state in [leased(), due()] {
            let under_way = nothing(SagaContinued::UnderWay(check));
            assert_eq!(decided([dead(), state, None, None, None, None]), under_way);
        }
        let new = SagaOrderKind::New.message_id(SCOPE, saga());
        assert_eq!(decided([dead(), None, None, None, None, None]), nothing(SagaContinued::Dead(new)));
        for over in [SagaState::Finish, SagaState::Fail] {
            let messages = [const { None }; 6];
            assert_eq!(
                SagaContinuation::of((SCOPE, saga()), Some(over), &messages, &[]),
                nothing(SagaContinued::Over(over))
            );
        }
    }

    #[test]
    fn a_nudge_is_a_check_under_an_id_of_its_own() {
        let order = SagaOrder {
            order: SagaOrderKind::New,
            saga: saga(),
            owner: "anna".into(),
            input: serde_json::json!({"amount": 1000}),
        };
        let message = order.clone().nudge(QueueName::new(SCOPE).unwrap(), SagaNudge(2)).unwrap();
        assert_eq!(message.id, SagaNudge(2).message_id(SCOPE, saga()));
        let read: SagaOrder = serde_json::from_slice(message.payload.bytes()).unwrap();
        assert_eq!(read, SagaOrder { order: SagaOrderKind::Check, ..order });
    }
}
