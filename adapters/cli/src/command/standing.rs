use std::collections::HashMap;

use claimstream_domain::{MessageId, MessageStanding, MessageState};
use claimstream_ports::{FindMessages, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{age::Age, moments::Moments};

/// Where messages stand that wait, are held, or were given up.
pub(super) struct Standings(HashMap<Uuid, MessageStanding>);

impl Standings {
    /// Of these messages.
    pub(super) async fn of(
        outbox: &SeaOrmOutbox,
        ids: impl Iterator<Item = Uuid>,
    ) -> Result<Self, StoreError> {
        let ids: Vec<MessageId> = ids.map(MessageId::new).collect();
        if ids.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        let found = outbox.find(&ids).await?;
        Ok(Self(found.into_iter().flatten().map(|standing| (standing.id.uuid(), standing)).collect()))
    }

    pub(super) fn get(&self, id: Uuid) -> Option<&MessageStanding> {
        self.0.get(&id)
    }
}

/// When a message is tried next, for people.
pub(super) fn next(standing: &MessageStanding) -> String {
    match &standing.state {
        MessageState::Scheduled { due_in } | MessageState::Retrying { due_in } => {
            format!("in {}", Age(*due_in))
        }
        MessageState::Due { .. } => "due".into(),
        MessageState::Leased { holder: Some(holder), .. } => format!("held by {holder}"),
        MessageState::Leased { holder: None, .. } => "held".into(),
        MessageState::Dead { .. } => "dead".into(),
    }
}

/// The fields of a message that say where it stands; all are null if nothing is known of it.
pub(super) fn fields(standing: Option<&MessageStanding>, moments: Moments) -> Map<String, Value> {
    let state = standing.map(|standing| &standing.state);
    let next_try = state.and_then(MessageState::next_try_in).map(|wait| moments.ahead(wait));
    let (holder, lease_ends) = match state {
        Some(MessageState::Leased { ends_in, holder }) => (holder.clone(), Some(moments.ahead(*ends_in))),
        _ => (None, None),
    };
    let fields = json!({
        "state": state.map(MessageState::name),
        "attempt": standing.map(|standing| standing.attempts),
        "next_try_at": next_try,
        "last_error": standing.and_then(|standing| standing.last_error.as_ref()).map(|reason| reason.as_str()),
        "holder": holder,
        "lease_ends_at": lease_ends,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
