use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{Recipient, SegmentPlace},
};
use claimstream_ports::{
    StoreError,
    notification::{FoundUsers, RecipientDirectory, SegmentPage},
};
use serde::Deserialize;

use crate::tables::People;

/// Users and segments that are known by heart.
///
/// The segment `all` is everybody, unless it is defined otherwise. Reads JSON such as
/// `{"users": [{"user": "u-1", "email": "a@example.com", "language": "de"}], "segments": {"vip": ["u-1"]}}`; a user's
/// `key` is `user:<id>` unless given. Members come in the order of their ids.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirectory {
    people: People,
    keys: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    users: Vec<Recipient>,
    #[serde(default)]
    segments: BTreeMap<String, Vec<String>>,
}

impl MemoryDirectory {
    /// An empty one.
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
        if self.people.user(&id).is_some() {
            return Err(malformed(format!("the user {id:?} is there twice")));
        }
        if !self.keys.insert(user.key.clone()) {
            return Err(malformed(format!("two users have the key {:?}", user.key)));
        }
        self.people.put(id, user);
        Ok(self)
    }

    /// With one more segment of known users.
    pub fn with_segment(mut self, name: &str, users: &[&str]) -> Result<Self, Invalid> {
        if let Some(unknown) = users.iter().find(|user| self.people.user(user).is_none()) {
            return Err(malformed(format!("the segment {name:?} names the unknown user {unknown:?}")));
        }
        if users.iter().collect::<BTreeSet<_>>().len() < users.len() {
            return Err(malformed(format!("the segment {name:?} names a user twice")));
        }
        let segment = self.people.segment(name);
        segment.clear();
        segment.extend(users.iter().map(|user| (*user).to_owned()));
        Ok(self)
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
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        Ok(ids.iter().map(|id| self.people.user(id).cloned()).collect::<Vec<_>>().into())
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        Ok(self.people.members(segment, from, limit))
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

    fn keys(
        directory: &MemoryDirectory,
        segment: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Option<Vec<String>> {
        let from = SegmentPlace::from(after.map(str::to_owned));
        let found = block_on(directory.members(segment, &from, limit)).unwrap()?;
        Some(found.members.into_iter().map(|recipient| recipient.key).collect())
    }

    #[test]
    fn reads_users_and_segments_and_knows_everybody() {
        let directory: MemoryDirectory = FILE.parse().unwrap();
        assert_eq!(keys(&directory, "vip", None, 9), Some(vec!["k".into(), "user:u-3".into()]));
        assert_eq!(keys(&directory, "all", Some("u-1"), 1), Some(vec!["user:u-2".into()]));
        assert_eq!(keys(&directory, "all", Some("u-3"), 1), Some(vec![]));
        assert_eq!(keys(&directory, "staff", None, 1), None);
        let defined = directory.with_segment("all", &["u-2"]).unwrap();
        assert_eq!(keys(&defined, "all", None, 9), Some(vec!["user:u-2".into()]));
    }

    #[test]
    fn the_last_page_says_so() {
        let directory: MemoryDirectory = FILE.parse().unwrap();
        let next =
            |limit| block_on(directory.members("all", &SegmentPlace::Start, limit)).unwrap().unwrap().next;
        assert_eq!((next(2).as_deref(), next(3), next(9)), (Some("u-2"), None, None));
    }

    #[test]
    fn users_are_found_in_order_known_or_not() {
        let directory: MemoryDirectory = FILE.parse().unwrap();
        let ids = ["u-1", "u-9", "u-2"].map(str::to_owned);
        let found = block_on(directory.users(&ids)).unwrap();
        let keys: Vec<_> =
            found.users.iter().map(|user| user.as_ref().map(|user| user.key.as_str())).collect();
        assert_eq!(keys, [Some("k"), None, Some("user:u-2")]);
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
