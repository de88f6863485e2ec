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
    /// How long entries are kept unless something else is said: a year.
    pub const RETENTION: Duration = Duration::from_secs(365 * 24 * 3_600);
    /// The shortest time for which entries can be kept: a message that comes again within it is still the same entry.
    pub const SHORTEST_RETENTION: Duration = Duration::from_secs(24 * 3_600);

    /// Refuses to keep entries for less than a day.
    pub fn check_retention(keep: Duration) -> Result<(), Invalid> {
        if keep >= Self::SHORTEST_RETENTION {
            return Ok(());
        }
        Err(Invalid::OutOfRange {
            what: "in_app_retention",
            given: humantime::format_duration(keep).to_string(),
            allowed: "at least 1day; leave it empty to keep entries until they are erased".into(),
        })
    }
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
            digest: None,
            traceparent: None,
        }
    }

    #[test]
    fn a_message_is_the_entry_of_its_user_under_its_own_id() {
        let entry = NewInAppEntry::of(&message("a")).unwrap();
        assert_eq!((entry.id, entry.user.as_str()), (message("a").id, "a"));
        assert_eq!(entry.content, message("a").content);
    }

    #[test]
    fn entries_outlive_the_attempts_at_their_messages() {
        let day = InAppEntry::SHORTEST_RETENTION;
        assert_eq!(InAppEntry::check_retention(day), Ok(()));
        let refused = InAppEntry::check_retention(day - Duration::from_secs(60)).unwrap_err().to_string();
        assert!(refused.starts_with("in_app_retention is 23h 59m, it must be at least 1day"), "{refused}");
    }

    #[test]
    fn a_user_whose_id_no_inbox_can_keep_is_refused() {
        assert!(matches!(NewInAppEntry::of(&message("")), Err(Invalid::Empty { what: "user" })));
        assert!(NewInAppEntry::of(&message(&"x".repeat(255))).is_ok());
        assert!(matches!(NewInAppEntry::of(&message(&"x".repeat(256))), Err(Invalid::TooLong { .. })));
    }
}
