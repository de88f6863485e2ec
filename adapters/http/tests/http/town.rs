use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    Fingerprint,
    notification::{
        DirectoryEntry, Recipient, SegmentPlace,
        consent::{Address, SuppressedAddress, Suppression},
    },
};
use claimstream_http::{Directory, RecipientStores};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{
        DirectoryRepository, EraseRecipient, Erased, FoundUsers, RecipientDirectory, SegmentPage,
        Suppressions,
    },
};
use serde_json::json;
use tokio::time::sleep;

use crate::api::trouble;

/// People whose answers follow from their ids: `u` is there, `away` meets a database that is away, and any other is unknown.
#[derive(Default)]
pub(crate) struct Town {
    pub(crate) put: Mutex<Vec<Recipient>>,
    pub(crate) erased: Mutex<Vec<String>>,
    pub(crate) forgotten: Mutex<Vec<Address>>,
    pub(crate) suppressed: Mutex<Vec<(Address, Suppression, Option<String>)>>,
}

impl Town {
    /// The stores of people, with this directory.
    pub(crate) fn people(self: &Arc<Self>) -> RecipientStores {
        let directory = Directory { users: self.clone(), segments: self.clone() };
        RecipientStores { directory: Some(directory), erase: self.clone(), suppressions: self.clone() }
    }

    /// The same without a directory.
    pub(crate) fn elsewhere(self: &Arc<Self>) -> RecipientStores {
        RecipientStores { directory: None, ..self.people() }
    }
}

/// What the store says of an id.
pub(crate) fn known<T>(id: &str, answer: T) -> Result<Option<T>, StoreError> {
    match id {
        "away" | "user:away" => Err(trouble(StoreErrorKind::Unavailable)),
        "u" => Ok(Some(answer)),
        _ => Ok(None),
    }
}

/// The user `u`.
pub(crate) fn ann() -> Recipient {
    let attributes = serde_json::from_value(json!({"name": "Ann"})).unwrap();
    Recipient { email: Some("ann@example.com".into()), attributes, ..Recipient::user("u") }
}

#[async_trait]
impl DirectoryRepository for Town {
    async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError> {
        assert_eq!(segment, None);
        known(users[0].user.as_deref().unwrap(), ())?;
        self.put.lock().unwrap().extend_from_slice(users);
        Ok(())
    }

    async fn put_members(&self, _: &str, users: &[String]) -> Result<Vec<String>, StoreError> {
        Ok(if known(&users[0], ())?.is_some() { Vec::new() } else { users.to_vec() })
    }

    async fn remove_members(&self, _: &str, users: &[String]) -> Result<u64, StoreError> {
        known(&users[0], ()).map(|known| known.is_some().into())
    }

    async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError> {
        known(user, DirectoryEntry { user: ann(), segments: vec!["vip".into()] })
    }

    async fn list(&self, from: &SegmentPlace, _: u32) -> Result<SegmentPage, StoreError> {
        let members = known(from.key().unwrap_or("u"), ann())?.into_iter().collect();
        Ok(SegmentPage { members, unreadable: vec!["w".into()], next: Some("u".into()) })
    }

    async fn remove(&self, _: &str) -> Result<bool, StoreError> {
        unreachable!("erasure does it");
    }
}

#[async_trait]
impl RecipientDirectory for Town {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let users: Result<Vec<_>, _> = ids.iter().map(|id| known(id, ann())).collect();
        Ok(FoundUsers { unreadable: vec!["w".into()], ..users?.into() })
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        _: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let next = from.key().is_none().then(|| "u".to_owned());
        known(segment, SegmentPage { members: vec![ann()], unreadable: vec!["w".into()], next })
    }
}

#[async_trait]
impl EraseRecipient for Town {
    async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError> {
        known(recipient, ())?;
        if recipient == "user:old" {
            sleep(Duration::from_secs(3_600)).await;
        }
        self.erased.lock().unwrap().push(recipient.into());
        self.forgotten.lock().unwrap().extend_from_slice(addresses);
        Ok(Erased { requests: 1, records: 2, bodies: 3, dead_letters: 4 })
    }
}

#[async_trait]
impl Suppressions for Town {
    async fn suppress(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<String>,
    ) -> Result<(), StoreError> {
        known(address.as_str(), ())?;
        self.suppressed.lock().unwrap().push((address.clone(), reason, note));
        Ok(())
    }

    async fn lift(&self, address: &Address) -> Result<bool, StoreError> {
        known(address.as_str(), ()).map(|known| known.is_some())
    }

    async fn suppressed(
        &self,
        after: Option<Fingerprint>,
        _: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError> {
        if after == Some(Fingerprint::of(&[b"away"])) {
            return Err(trouble(StoreErrorKind::Unavailable));
        }
        let address = Address::new(claimstream_domain::notification::Channel::Email, "ann@example.com");
        let (reason, age) = (Suppression::Bounced, Duration::from_secs(2));
        Ok(vec![SuppressedAddress { key: address.fingerprint(), address, reason, note: None, age }])
    }
}
