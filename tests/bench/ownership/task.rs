use claimstream_domain::{Message, MessageId, NewMessage, OrderingKey, Payload, QueueName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Failure;

pub(crate) const QUEUE: &str = "ownership";

/// What a message carries: its place among the messages of its key, and whether it ends the process that handles it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub(crate) key: u32,
    pub(crate) seq: u32,
    /// The message of the same key before it.
    pub(crate) before: Option<Uuid>,
    pub(crate) is_poison: bool,
}

/// What becomes of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Done,
    /// To be tried again.
    Failed,
    /// The process ends.
    Crash,
}

impl Task {
    /// Of so many messages one fails, the first time it is handled.
    const FAILS: u64 = 20;

    /// What becomes of an attempt; the same for the same seed.
    pub(crate) fn fate(self, attempt: u32, seed: u64) -> Fate {
        let number = (u64::from(self.key) << 32 | u64::from(self.seq)) ^ seed.rotate_left(40);
        // A multiplication by a large odd number spreads neighbours.
        let lot = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        match (self.is_poison, attempt) {
            (true, _) => Fate::Crash,
            (false, 1) if lot.is_multiple_of(Self::FAILS) => Fate::Failed,
            _ => Fate::Done,
        }
    }

    pub(crate) fn message(&self, id: Uuid) -> Result<NewMessage, Failure> {
        let payload = Payload::json(serde_json::to_vec(self)?);
        let key = OrderingKey::new(&format!("account-{}", self.key))?;
        Ok(NewMessage::new(MessageId::new(id), QueueName::new(QUEUE)?, payload).ordered_by(key))
    }

    pub(crate) fn of(message: &Message) -> Result<Self, Failure> {
        Ok(serde_json::from_slice(message.payload.bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_fails_once_and_poison_always_crashes() {
        let task = |seq| Task { key: 7, seq, before: None, is_poison: false };
        let failed = (0..10_000).filter(|seq| task(*seq).fate(1, 3) == Fate::Failed).count();
        assert!((400..600).contains(&failed), "{failed}");
        assert!((0..10_000).all(|seq| task(seq).fate(2, 3) == Fate::Done));
        assert_eq!(Task { is_poison: true, ..task(1) }.fate(5, 3), Fate::Crash);
    }
}
