//! How pages say where a message stands.

use claimstream_domain::{ErrorClass, MessageState, QueueName, Reason, notification::Priority};

use crate::shown::span;

/// Whether a page shows what may be about people: only where a user has asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sight {
    /// It is left out.
    Hidden,
    /// It is there, and the log says for whom.
    Shown,
}

/// What a message waits for, such as `scheduled, due in 3m 20s`.
pub(crate) fn waits(state: &MessageState) -> String {
    match state {
        MessageState::Scheduled { due_in } => format!("scheduled, due in {}", span(*due_in)),
        MessageState::Retrying { due_in } => format!("retrying, next attempt in {}", span(*due_in)),
        MessageState::Due { since } => format!("due for {}", span(*since)),
        MessageState::Leased { ends_in, .. } => format!("leased, for {} more", span(*ends_in)),
        MessageState::Dead { since } => format!("dead for {}", span(*since)),
    }
}

/// The label of the relay that has a message.
pub(crate) fn holder(state: &MessageState) -> Option<String> {
    match state {
        MessageState::Leased { holder, .. } => {
            Some(holder.clone().unwrap_or_else(|| "a relay without a label".into()))
        }
        _ => None,
    }
}

/// Why something failed; its class alone where people's addresses and numbers are left out, because providers repeat them.
pub(crate) fn reason(reason: &Reason, sight: Sight) -> String {
    match sight {
        Sight::Hidden => ErrorClass::of(reason).to_string(),
        Sight::Shown => reason.to_string(),
    }
}

/// How much is shown of the reasons of a queue: those of notifications repeat what providers say of people, others are a service's own words.
pub(crate) fn sight_of_reasons(queue: &QueueName, asked: Sight) -> Sight {
    if is_of_notifications(queue) { asked } else { Sight::Shown }
}

/// Whether notifications are delivered from a queue.
pub(crate) fn is_of_notifications(queue: &QueueName) -> bool {
    Priority::ALL.iter().any(|priority| priority.message_queue() == queue.as_str())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_message_waits_for_its_time_or_for_its_relay() {
        let minute = Duration::from_secs(60);
        assert_eq!(waits(&MessageState::Retrying { due_in: minute }), "retrying, next attempt in 1m");
        let leased = |holder| MessageState::Leased { ends_in: minute, holder };
        assert_eq!(waits(&leased(None)), "leased, for 1m more");
        assert_eq!(holder(&leased(Some("relay-1".into()))).as_deref(), Some("relay-1"));
        assert_eq!(holder(&leased(None)).as_deref(), Some("a relay without a label"));
        assert_eq!(holder(&MessageState::Due { since: minute }), None);
    }

    /// Guard: texts of providers about recipients are hidden | `reason`: the reason itself
    #[test]
    fn what_a_provider_says_of_people_is_hidden_with_them() {
        let said = Reason::new("550 no mailbox ann@example.com");
        assert_eq!(reason(&said, Sight::Hidden), "550 no mailbox #");
        assert_eq!(reason(&said, Sight::Shown), said.as_str());
    }
}
