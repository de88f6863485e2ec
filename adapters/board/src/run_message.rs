use claimstream_domain::{MessageId, MessageStanding, MessageState};
use claimstream_ports::{FindMessages, StoreError};

use crate::{
    frame::Frame,
    shown::{count, span},
};

/// A message of a run, as its page shows it.
pub(crate) struct RunMessage {
    /// What it asks for.
    pub(crate) asks: &'static str,
    pub(crate) id: String,
    pub(crate) state: &'static str,
    /// When it is tried next, or since when it stands so.
    pub(crate) when: String,
    pub(crate) attempts: String,
    pub(crate) last_error: String,
    /// The page of the dead letter, if it is one.
    pub(crate) dead: Option<String>,
}

impl RunMessage {
    /// The messages of a run that are in their queue or dead letters.
    pub(crate) async fn find(
        store: &dyn FindMessages,
        known: &[(&'static str, MessageId)],
        frame: &Frame,
    ) -> Result<Vec<Self>, StoreError> {
        let ids: Vec<MessageId> = known.iter().map(|(_, id)| *id).collect();
        let found = store.find(&ids).await?;
        let all = known.iter().zip(found);
        Ok(all.filter_map(|((asks, _), found)| Some(Self::of(asks, &found?, frame))).collect())
    }

    fn of(asks: &'static str, standing: &MessageStanding, frame: &Frame) -> Self {
        let MessageStanding { id, attempts, last_error, state, .. } = standing;
        Self {
            asks,
            id: id.to_string(),
            state: state.name(),
            when: Self::when(state),
            attempts: count(u64::from(*attempts)),
            last_error: last_error.as_ref().map(ToString::to_string).unwrap_or_default(),
            dead: matches!(state, MessageState::Dead { .. })
                .then(|| frame.to(&format!("/dead/letters/{id}"))),
        }
    }

    /// When a message is tried next, or since when it stands so.
    pub(crate) fn when(state: &MessageState) -> String {
        match state {
            MessageState::Scheduled { due_in } | MessageState::Retrying { due_in } => {
                format!("due in {}", span(*due_in))
            }
            MessageState::Due { since } | MessageState::Dead { since } => format!("for {}", span(*since)),
            MessageState::Leased { ends_in, holder: Some(holder) } => {
                format!("by {holder}, for at most {}", span(*ends_in))
            }
            MessageState::Leased { ends_in, holder: None } => format!("for at most {}", span(*ends_in)),
        }
    }
}
