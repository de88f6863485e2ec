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
        let (recipients, addresses) = (recipients.to_vec(), addresses.to_vec());
        self.detached(PREFERENCES, move |state| async move {
            state.notifications.preferences.consents(&recipients, &addresses).await
        })
        .await
    }

    async fn change(&self, recipient: &str, changes: &[PreferenceChange]) -> Result<Preferences, StoreError> {
        let (recipient, changes) = (recipient.to_owned(), changes.to_vec());
        self.detached(PREFERENCES, move |state| async move {
            state.notifications.preferences.change(&recipient, &changes).await
        })
        .await
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
        let address = address.clone();
        self.detached(SUPPRESSION, move |state| async move {
            state.notifications.suppressions.suppress(&address, reason, note.as_deref()).await
        })
        .await
    }

    async fn lift(&self, address: &Address) -> Result<bool, StoreError> {
        let address = address.clone();
        self.detached(SUPPRESSION, move |state| async move {
            state.notifications.suppressions.lift(&address).await
        })
        .await
    }

    async fn suppressed(
        &self,
        after: Option<Fingerprint>,
        limit: u32,
    ) -> Result<Vec<SuppressedAddress>, StoreError> {
        self.detached(SUPPRESSION, move |state| async move {
            state.notifications.suppressions.page(after.as_ref(), limit).await
        })
        .await
    }
}
