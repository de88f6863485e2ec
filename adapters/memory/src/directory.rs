use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Recipient, RecipientReference},
};
use claimstream_ports::{StoreError, notification::RecipientDirectory};
use serde::Deserialize;

/// Users and segments that are known by heart.
///
/// The segment `all` is everybody, unless it is defined otherwise. Reads JSON such as
/// `{"users": [{"user": "u-1", "email": "a@example.com", "language": "de"}], "segments": {"vip": ["u-1"]}}`; a user's
/// `key` is `user:<id>` unless given.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirectory {
    users: BTreeMap<String, Recipient>,
    segments: BTreeMap<String, Vec<String>>,
}

/// The segment of all users.
const ALL: &str = "all";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    users: Vec<Recipient>,
    #[serde(default)]
    segments: BTreeMap<String, Vec<String>>,
}

impl MemoryDirectory {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more user; the user must have an id and be new.
    pub fn with_user(mut self, mut user: Recipient) -> Result<Self, Invalid> {
        let Some(id) = user.user.clone().filter(|id| !id.is_empty()) else {
            return Err(malformed(format!("the user with key {:?} has no \"user\"", user.key)));
        };
        if user.key.is_empty() {
            user.key = Recipient::user(&id).key;
        }
        if self.users.values().any(|known| known.key == user.key) {
            return Err(malformed(format!("two users have the key {:?}", user.key)));
        }
        match self.users.insert(id, user) {
            None => Ok(self),
            Some(twice) => {
                Err(malformed(format!("the user {:?} is there twice", twice.user.unwrap_or_default())))
            }
        }
    }

    /// With one more segment of known users.
    pub fn with_segment(mut self, name: &str, users: &[&str]) -> Result<Self, Invalid> {
        if let Some(unknown) = users.iter().find(|user| !self.users.contains_key(**user)) {
            return Err(malformed(format!("the segment {name:?} names the unknown user {unknown:?}")));
        }
        if users.iter().collect::<BTreeSet<_>>().len() < users.len() {
            return Err(malformed(format!("the segment {name:?} names a user twice")));
        }
        self.segments.insert(name.into(), users.iter().map(|user| (*user).to_owned()).collect());
        Ok(self)
    }

    fn recipients(&self, reference: &RecipientReference) -> Option<Vec<Recipient>> {
        match reference {
            RecipientReference::User { user } => Some(vec![self.users.get(user)?.clone()]),
            RecipientReference::Segment { segment } => match self.segments.get(segment) {
                Some(ids) => Some(ids.iter().filter_map(|id| self.users.get(id)).cloned().collect()),
                None if segment == ALL => Some(self.users.values().cloned().collect()),
                None => None,
            },
            RecipientReference::Direct(direct) => Some(vec![direct.resolve()]),
        }
    }
}

impl FromStr for MemoryDirectory {
    type Err = Invalid;

    fn from_str(json: &str) -> Result<Self, Invalid> {
        let file: File = serde_json::from_str(json).map_err(|e| malformed(e.to_string()))?;
        let users = file.users.into_iter().try_fold(Self::new(), Self::with_user)?;
        file.segments.iter().try_fold(users, |directory, (name, ids)| {
            directory.with_segment(name, &ids.iter().map(String::as_str).collect::<Vec<_>>())
        })
    }
}

#[async_trait]
impl RecipientDirectory for MemoryDirectory {
    async fn resolve(
        &self,
        reference: &RecipientReference,
        offset: u64,
        limit: u32,
    ) -> Result<Option<Vec<Recipient>>, StoreError> {
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let all = self.recipients(reference);
        Ok(all.map(|all| all.into_iter().skip(skip).take(limit as usize).collect()))
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "directory", why }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    const FILE: &str = r#"{"users":[{"user":"u-2","email":"b@example.com"},{"key":"k","user":"u-1"},
        {"user":"u-3","language":"de"}],"segments":{"vip":["u-3","u-1"]}}"#;

    fn keys(directory: &MemoryDirectory, segment: &str, offset: u64, limit: u32) -> Option<Vec<String>> {
        let reference = RecipientReference::Segment { segment: segment.into() };
        let found = block_on(directory.resolve(&reference, offset, limit)).unwrap()?;
        Some(found.into_iter().map(|recipient| recipient.key).collect())
    }

    #[test]
    fn reads_users_and_segments_and_knows_everybody() {
        let directory: MemoryDirectory = FILE.parse().unwrap();
        assert_eq!(keys(&directory, "vip", 0, 9), Some(vec!["user:u-3".into(), "k".into()]));
        assert_eq!(keys(&directory, "all", 1, 1), Some(vec!["user:u-2".into()]));
        assert_eq!(keys(&directory, "all", 3, 1), Some(vec![]));
        assert_eq!(keys(&directory, "staff", 0, 1), None);
        let defined = directory.with_segment("all", &["u-2"]).unwrap();
        assert_eq!(keys(&defined, "all", 0, 9), Some(vec!["user:u-2".into()]));
    }

    #[test]
    fn a_user_is_one_page_and_a_direct_recipient_is_itself() {
        let directory: MemoryDirectory = FILE.parse().unwrap();
        let user = |id: &str| RecipientReference::User { user: id.into() };
        let found = block_on(directory.resolve(&user("u-1"), 0, 5)).unwrap().unwrap();
        assert_eq!(found[0].key, "k");
        assert_eq!(block_on(directory.resolve(&user("u-1"), 1, 5)).unwrap(), Some(vec![]));
        assert_eq!(block_on(directory.resolve(&user("u-9"), 0, 5)).unwrap(), None);
        let direct: RecipientReference = serde_json::from_str(r#"{"phone":"+491"}"#).unwrap();
        let found = block_on(directory.resolve(&direct, 0, 5)).unwrap().unwrap();
        assert_eq!(found[0].phone.as_deref(), Some("+491"));
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        let refused = |json: &str| json.parse::<MemoryDirectory>().unwrap_err().to_string();
        assert!(refused(r#"{"users":[{"user":"u","mail":"x"}]}"#).contains("unknown field `mail`"));
        assert!(refused(r#"{"users":[],"groups":{}}"#).contains("unknown field `groups`"));
        assert!(refused(r#"{"users":[{"key":"k"}]}"#).contains("has no \"user\""));
        assert!(refused(r#"{"users":[{"user":"u"},{"user":"u","key":"k"}]}"#).contains("there twice"));
        assert!(refused(r#"{"users":[{"user":"u"},{"user":"v","key":"user:u"}]}"#).contains("two users"));
        let segment = r#"{"users":[{"user":"u"}],"segments":{"vip":["w"]}}"#;
        assert!(refused(segment).contains("the segment \"vip\" names the unknown user \"w\""));
        assert!(refused(&segment.replace("\"w\"", "\"u\",\"u\"")).contains("names a user twice"));
    }
}
