use std::time::Duration;

use crate::{MessageId, QueueName, Reason};

/// Where one message stands at one moment of the store's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageStanding {
    /// The message.
    pub id: MessageId,
    /// Its queue.
    pub queue: QueueName,
    /// How many attempts are counted, that under way included.
    pub attempts: u32,
    /// Why the newest attempt failed, if one has; of a dead letter, why it was given up.
    pub last_error: Option<Reason>,
    /// What it waits for.
    pub state: MessageState,
}

/// What a message waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessageState {
    /// Its time has not come, and no attempt is counted.
    Scheduled {
        /// How long until it is due.
        due_in: Duration,
    },
    /// An attempt has failed, and the time of the next one has not come.
    Retrying {
        /// How long until it is due.
        due_in: Duration,
    },
    /// It may be claimed, by its time; under an order by key it may still wait behind another of its key.
    Due {
        /// For how long it has been due.
        since: Duration,
    },
    /// A relay has it.
    Leased {
        /// How long until the lease ends.
        ends_in: Duration,
        /// The relay's label, if it is known.
        holder: Option<String>,
    },
    /// It is a dead letter.
    Dead {
        /// For how long.
        since: Duration,
    },
}

/// How a message stands in its queue, as its row and the lease of its shard tell it; differences are in microseconds, and negative
/// where the moment has passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueuedMessage {
    /// Until it is due, or until the end of the claim that is noted on the row.
    pub available_in: i64,
    /// Until the retry for which it waits in its place.
    pub parked_for: Option<i64>,
    /// How many attempts are counted.
    pub attempts: u32,
    /// Whether a claim is noted on the row.
    pub is_claimed: bool,
    /// The label of the relay that has it.
    pub holder: Option<String>,
    /// Until the end of the shard's lease under which it is in flight.
    pub flight_ends_in: Option<i64>,
}

impl MessageState {
    /// The state's name: scheduled, retrying, due, leased or dead.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scheduled { .. } => "scheduled",
            Self::Retrying { .. } => "retrying",
            Self::Due { .. } => "due",
            Self::Leased { .. } => "leased",
            Self::Dead { .. } => "dead",
        }
    }

    /// How long until the next attempt may begin; `None` if a relay has it or no relay will try it.
    pub fn next_try_in(&self) -> Option<Duration> {
        match self {
            Self::Scheduled { due_in } | Self::Retrying { due_in } => Some(*due_in),
            Self::Due { .. } => Some(Duration::ZERO),
            Self::Leased { .. } | Self::Dead { .. } => None,
        }
    }

    /// The state of a message that is in its queue.
    pub fn of_queued(message: QueuedMessage) -> Self {
        let QueuedMessage { available_in, parked_for, attempts, is_claimed, holder, flight_ends_in } =
            message;
        let length = |micros: i64| Duration::from_micros(micros.unsigned_abs());
        if let Some(ends_in) = flight_ends_in.filter(|ends_in| *ends_in > 0) {
            return Self::Leased { ends_in: length(ends_in), holder };
        }
        if is_claimed && available_in > 0 {
            return Self::Leased { ends_in: length(available_in), holder };
        }
        match available_in.max(parked_for.unwrap_or(i64::MIN)) {
            passed if passed <= 0 => Self::Due { since: length(passed) },
            due_in if attempts > 0 => Self::Retrying { due_in: length(due_in) },
            due_in => Self::Scheduled { due_in: length(due_in) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(available_in: i64, attempts: u32) -> QueuedMessage {
        QueuedMessage {
            available_in,
            parked_for: None,
            attempts,
            is_claimed: false,
            holder: None,
            flight_ends_in: None,
        }
    }

    #[test]
    fn a_message_is_in_exactly_one_state() {
        let second = Duration::from_secs(1);
        let of = MessageState::of_queued;
        assert_eq!(of(waiting(1_000_000, 0)), MessageState::Scheduled { due_in: second });
        assert_eq!(of(waiting(1_000_000, 2)), MessageState::Retrying { due_in: second });
        assert_eq!(of(waiting(0, 2)), MessageState::Due { since: Duration::ZERO });
        assert_eq!(of(waiting(-1_000_000, 0)), MessageState::Due { since: second });
        let parked = QueuedMessage { parked_for: Some(1_000_000), ..waiting(-5, 1) };
        assert_eq!(of(parked), MessageState::Retrying { due_in: second });
        let over = QueuedMessage { parked_for: Some(-1_000_000), ..waiting(-5_000_000, 1) };
        assert_eq!(of(over), MessageState::Due { since: second });
    }

    #[test]
    fn a_lease_that_has_ended_holds_nothing() {
        let second = Duration::from_secs(1);
        let claimed = |available_in| QueuedMessage {
            is_claimed: true,
            holder: Some("relay-1".into()),
            ..waiting(available_in, 1)
        };
        let leased = MessageState::Leased { ends_in: second, holder: Some("relay-1".into()) };
        assert_eq!(MessageState::of_queued(claimed(1_000_000)), leased);
        assert_eq!(MessageState::of_queued(claimed(-1_000_000)), MessageState::Due { since: second });
        let flight = |ends_in| QueuedMessage {
            flight_ends_in: Some(ends_in),
            holder: Some("relay-1".into()),
            ..waiting(-1_000_000, 0)
        };
        assert_eq!(MessageState::of_queued(flight(1_000_000)), leased);
        assert_eq!(MessageState::of_queued(flight(0)), MessageState::Due { since: second });
    }
}
