use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{
    Fingerprint,
    notification::consent::{Address, PreferenceChange, Preferences, SuppressedAddress, Suppression},
};
use claimstream_ports::{
    StoreError,
    notification::{ConsentsRead, PreferenceRepository, Suppressions},
};

use crate::outbox::handle::SeaOrmOutbox;

const PREFERENCES: &str = "preferences";
const SUPPRESSION: &str = "suppression";

#[async_trait]
impl PreferenceRepository for SeaOrmOutbox {
    async fn consents(
        &self,
        recipients: &[String],
        addresses: &[Address],
    ) -> Result<ConsentsRead, StoreError> {
        let (rooms, recipients, addresses) =
            (Arc::clone(&self.rooms), recipients.to_vec(), addresses.to_vec());
        let read = async move { rooms.notifications.preferences.consents(&recipients, &addresses).await };
        self.rooms.db.detached(PREFERENCES, read).await
    }

    async fn change(&self, recipient: &str, changes: &[PreferenceChange]) -> Result<Preferences, StoreError> {
        let (rooms, recipient, changes) = (Arc::clone(&self.rooms), recipient.to_owned(), changes.to_vec());
        let change = async move { rooms.notifications.preferences.change(&recipient, &changes).await };
        self.rooms.db.detached(PREFERENCES, change).await
    }
}

#[async_trait]
impl Suppressions for SeaOrmOutbox {
    async fn suppress(
        &self,
        address: &Address,
        reason: Suppression,
        note: Option<String>,
    ) -> Result<(), StoreError> {
        let (rooms, address) = (Arc::clone(&self.rooms), address.clone());
        let write =
            async move { rooms.notifications.suppressions.suppress(&address, reason, note.as_deref()).await };
        self.rooms.db.detached(SUPPRESSION, write).await
    }

    async fn lift(&self, address: &Address) -> Result<bool, StoreError> {
        let (rooms, address) = (Arc::clone(&self.rooms), address.clone());
        let write = async move { rooms.notifications.suppressions.lift(&address).await };
        self.rooms.db.detached(SUPPRESSION, write).await
    }

    async fn suppressed(
        &self,
        after: Option<Fingerprint>,
        limit: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let read = async move { rooms.notifications.suppressions.page(after.as_ref(), limit).await };
        self.rooms.db.detached(SUPPRESSION, read).await
    }
}
