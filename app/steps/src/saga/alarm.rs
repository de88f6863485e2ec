use claimstream_domain::{
    DedupKey, Invalid, MessageId, NewMessage, Payload, QueueName, Reason, saga::SagaId,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What an alarm message says, as JSON: which saga needs an operator, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SagaAlarm {
    /// The kind of saga.
    pub scope: String,
    /// Which one.
    pub saga: SagaId,
    /// What it is about.
    pub alarm: SagaAlarmKind,
    /// The finding, or the obstacle.
    pub reason: String,
    /// What an operator has to do about it, as a sentence.
    #[serde(default)]
    pub remedy: String,
}

/// What an alarm is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SagaAlarmKind {
    /// Something is as it must never be; the saga was left as it is.
    Broken,
    /// Many deliveries have not brought it to its end; it is still being tried.
    Late,
    /// It was ordered to be rolled back when it was past its pivot; it goes on, or has finished.
    TooLate,
}

impl SagaAlarm {
    pub(super) fn new(scope: &str, saga: SagaId, alarm: SagaAlarmKind, reason: &Reason) -> Self {
        let (reason, remedy) = (reason.as_str().into(), alarm.remedy(scope, saga));
        Self { scope: scope.into(), saga, alarm, reason, remedy }
    }

    /// The message that carries it; a second one of the same saga about the same is not taken in. Another fault is another alarm; what is
    /// in the way of a late saga may change with each delivery.
    pub(super) fn message(&self, queue: QueueName) -> Result<NewMessage, Invalid> {
        let text = serde_json::to_vec(self);
        let text = text.map_err(|e| Invalid::Malformed { what: "saga alarm", why: e.to_string() })?;
        let mut what = format!("{}/{}/{:?}", self.scope, self.saga, self.alarm);
        if self.alarm == SagaAlarmKind::Broken {
            let reason = Uuid::new_v5(&self.saga.uuid(), self.reason.as_bytes());
            what = format!("{what}/{}", reason.simple());
        }
        let id = Uuid::new_v5(&self.saga.uuid(), what.as_bytes());
        let message = NewMessage::new(MessageId::new(id), queue, Payload::json(text));
        Ok(message.unique_by(DedupKey::new(&what)?))
    }
}

impl SagaAlarmKind {
    fn remedy(self, scope: &str, saga: SagaId) -> String {
        match self {
            Self::Broken => format!(
                "Nothing is done about saga {saga} until an operator does it. Its rows, in its home and in the databases of its \
                 steps, are those of claimstream_step with scope = '{scope}' and run = '{saga}'. Mend the rows, the data, or \
                 the code that refuses them. Then revive its message (claimstream dead revive --queue {scope}), or call \
                 Saga::proceed with its id: it goes on where its rows say that it stands."
            ),
            Self::TooLate => format!(
                "Nothing was done. Saga {saga} is past its pivot, and what it did stands; let who ordered it to be rolled back know, and \
                 make up for it by a transaction of its own."
            ),
            Self::Late => format!(
                "Mend what is in the way of saga {saga}. It is tried again all the time and goes on by itself; no row is to \
                 be changed."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_fault_of_a_saga_is_another_alarm() {
        let message = |kind, reason: &str| {
            let saga = SagaId::new(Uuid::from_u128(7));
            let alarm = SagaAlarm::new("transfer", saga, kind, &Reason::new(reason));
            let message = alarm.message(QueueName::new("saga-alarms").expect("a name")).expect("a message");
            (message.id, message.dedup_key)
        };
        let broken = |reason| message(SagaAlarmKind::Broken, reason);
        let late = |reason| message(SagaAlarmKind::Late, reason);
        assert_eq!(broken("no account"), broken("no account"));
        assert_ne!(broken("no account"), broken("a row is missing"));
        assert_eq!(late("delivery 11"), late("delivery 12"));
    }
}
