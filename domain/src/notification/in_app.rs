use std::time::Duration;

use uuid::Uuid;

use super::{Content, NotificationMessage};
use crate::Invalid;

/// What is put into a user's inbox inside the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewInAppEntry {
    /// The id of the message, so that one that is delivered again is the same entry.
    pub id: Uuid,
    /// The request it came from.
    pub request_id: Uuid,
    /// The user's id, as the directory has it.
    pub user: String,
    /// What the user reads.
    pub content: Content,
}

impl NewInAppEntry {
    /// The longest id of a user, in bytes.
    pub const MAX_USER_BYTES: usize = 255;

    /// The entry that delivers a message; refuses a user's id that is empty or too long.
    pub fn of(message: &NotificationMessage) -> Result<Self, Invalid> {
        Invalid::unless_length("user", &message.address, Self::MAX_USER_BYTES)?;
        Ok(Self {
            id: message.id,
            request_id: message.request_id,
            user: message.address.clone(),
            content: message.content.clone(),
        })
    }
}

/// An entry of a user's inbox inside the application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InAppEntry {
    /// What was put there.
    pub entry: NewInAppEntry,
    /// How long ago that was.
    pub age: Duration,
    /// Whether the user has read it.
    pub is_read: bool,
}

impl InAppEntry {
    /// Where counting unread entries ends: a thousand look like more.
    pub const MOST_UNREAD: u64 = 1_000;
}

/// Which entries of a user's inbox are asked for; the newest come first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InAppPage {
    /// The user.
    pub user: String,
    /// Only those that the user has not read.
    pub only_unread: bool,
    /// Only those that are older than this entry; a page after one that is gone is empty.
    pub after: Option<Uuid>,
    /// At most so many.
    pub limit: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notification::Channel;

    fn message(address: &str) -> NotificationMessage {
        NotificationMessage {
            id: Uuid::from_u128(9),
            request_id: Uuid::from_u128(7),
            channel: Channel::InApp,
            recipient: "user:a".into(),
            address: address.into(),
            content: Content { title: Some("Hello".into()), ..Content::default() },
            sender: None,
            expires_at: None,
            category: None,
            priority: Default::default(),
            unsubscribe_url: None,
            time_zone: None,
        }
    }

    #[test]
    fn a_message_is_the_entry_of_its_user_under_its_own_id() {
        let entry = NewInAppEntry::of(&message("a")).unwrap();
        assert_eq!((entry.id, entry.user.as_str()), (message("a").id, "a"));
        assert_eq!(entry.content, message("a").content);
    }

    #[test]
    fn a_user_whose_id_no_inbox_can_keep_is_refused() {
        assert!(matches!(NewInAppEntry::of(&message("")), Err(Invalid::Empty { what: "user" })));
        assert!(NewInAppEntry::of(&message(&"x".repeat(255))).is_ok());
        assert!(matches!(NewInAppEntry::of(&message(&"x".repeat(256))), Err(Invalid::TooLong { .. })));
    }
}
