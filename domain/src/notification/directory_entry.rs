use super::{Recipient, recipient::check_spelling};
use crate::Invalid;

/// What a directory keeps of a user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectoryEntry {
    /// The user, with its addresses.
    pub user: Recipient,
    /// The segments that the user is in, by name, at most [`MOST_SEGMENTS`](Self::MOST_SEGMENTS).
    pub segments: Vec<String>,
}

impl DirectoryEntry {
    /// How many segments of a user an entry lists.
    pub const MOST_SEGMENTS: u32 = 1_000;
    /// The longest id of a user or name of a segment, in bytes.
    pub const MAX_ID_BYTES: usize = 128;
    /// The longest address, in bytes.
    pub const MAX_ADDRESS_BYTES: usize = 2048;
    const MAX_LANGUAGE_BYTES: usize = 64;

    /// Refuses a user that no directory can keep: without an id, with an empty address, a mail address or a phone number that is none, or
    /// with a value that is too long.
    ///
    /// Its key must be `user:<id>`, or be left out: preferences and erasure find a user by it.
    pub fn check_user(user: &Recipient) -> Result<(), Invalid> {
        let id = user.user.as_deref().unwrap_or_default();
        Self::check_id(id)?;
        if !user.key.is_empty() && user.key != Recipient::user(id).key {
            return Err(Invalid::Contradiction(format!(
                "the key of the user {id:?} is {:?}; leave it out, it is {:?} here",
                user.key,
                Recipient::user(id).key
            )));
        }
        let check = |what, text: &Option<String>, max| {
            text.as_deref().map_or(Ok(()), |text| Invalid::unless_length(what, text, max))
        };
        check("email", &user.email, Self::MAX_ADDRESS_BYTES)?;
        check("phone", &user.phone, Self::MAX_ADDRESS_BYTES)?;
        check("device_token", &user.device_token, Self::MAX_ADDRESS_BYTES)?;
        check("webhook", &user.webhook, Self::MAX_ADDRESS_BYTES)?;
        check("chat", &user.chat, Self::MAX_ADDRESS_BYTES)?;
        check("language", &user.language, Self::MAX_LANGUAGE_BYTES)?;
        check_spelling(user.email.as_deref(), user.phone.as_deref())
    }

    /// Refuses an id of a user that no directory can keep.
    pub fn check_id(id: &str) -> Result<(), Invalid> {
        Invalid::unless_length("user", id, Self::MAX_ID_BYTES)
    }

    /// Refuses a name of a segment that no directory can keep.
    pub fn check_segment(name: &str) -> Result<(), Invalid> {
        Invalid::unless_length("segment", name, Self::MAX_ID_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(edit: impl FnOnce(&mut Recipient)) -> Option<String> {
        let mut user = Recipient { email: Some("a@example.com".into()), ..Recipient::user("u-1") };
        edit(&mut user);
        DirectoryEntry::check_user(&user).err().map(|invalid| invalid.to_string())
    }

    #[test]
    fn a_user_that_no_directory_can_keep_is_refused_with_the_field() {
        assert_eq!((refused(|_| ()), refused(|user| user.key.clear())), (None, None));
        let says = |why: Option<String>, word: &str| {
            assert!(why.clone().is_some_and(|why| why.contains(word)), "{why:?}")
        };
        says(refused(|user| user.user = None), "user is empty");
        says(refused(|user| user.user = Some("u".repeat(129))), "at most 128");
        says(refused(|user| user.key = "k".into()), "leave it out, it is \"user:u-1\" here");
        says(refused(|user| user.email = Some(String::new())), "email is empty");
        says(refused(|user| user.email = Some("ann".into())), "write it like ann@example.com");
        says(refused(|user| user.phone = Some("0170 CALL".into())), "write it like +491701234567");
        says(refused(|user| user.webhook = Some("w".repeat(2049))), "webhook has 2049 bytes");
        says(refused(|user| user.language = Some("x".repeat(65))), "language");
        assert!(DirectoryEntry::check_segment("").is_err() && DirectoryEntry::check_segment("vip").is_ok());
    }
}
