use claimstream_domain::{
    DedupKey, Invalid, MessageId, NewMessage, Payload, QueueName, Reason, tcc::BranchCall,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What an alarm message of a [`Coordinator`](super::Coordinator) says, as JSON: after the decision a participant does not carry it out,
/// so that the transaction cannot end before a person mends the participant.
///
/// There is one of a kind for each branch while the first is remembered, that is for as long as the outbox keeps keys, however often
/// the call is repeated. It goes on being repeated, and succeeds once the participant's answer is `Ok`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TccAlarm {
    /// The global transaction.
    pub gid: String,
    /// The branch.
    pub branch: String,
    /// The participant's name with the coordinator.
    pub participant: String,
    /// What it does not do: `confirm` or `cancel`.
    pub operation: String,
    /// What it is about.
    #[serde(default)]
    pub alarm: TccAlarmKind,
    /// Why, in its own words.
    pub reason: String,
}

/// What an alarm is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TccAlarmKind {
    /// The participant refuses.
    #[default]
    Refused,
    /// Many deliveries have not brought the participant to do it; it is still being asked.
    Late,
}

impl TccAlarm {
    pub(super) fn new(alarm: TccAlarmKind, participant: &str, call: &BranchCall, reason: &Reason) -> Self {
        Self {
            gid: call.key.gid.to_string(),
            branch: call.key.branch.to_string(),
            participant: participant.into(),
            operation: call.key.operation.to_string(),
            alarm,
            reason: reason.as_str().into(),
        }
    }

    /// The message that carries it; a second one about the same call is not taken in.
    pub(super) fn message(&self, queue: QueueName) -> Result<NewMessage, Invalid> {
        let json = serde_json::to_vec(self);
        let json = json.map_err(|e| Invalid::Malformed { what: "TCC alarm", why: e.to_string() })?;
        let late = match self.alarm {
            TccAlarmKind::Refused => "",
            TccAlarmKind::Late => "/late",
        };
        let call = format!("tcc-alarm/{}/{}/{}{late}", self.gid, self.branch, self.operation);
        let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, call.as_bytes());
        // A sweep forgets a finished message's id long before a key.
        let key = DedupKey::new(&format!("tcc-alarm/{id}"))?;
        Ok(NewMessage::new(MessageId::new(id), queue, Payload::json(json)).unique_by(key))
    }
}
