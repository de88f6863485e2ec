use async_trait::async_trait;
use claimstream_domain::notification::{DirectoryEntry, Recipient, SegmentPlace};
use claimstream_ports::{
    StoreError,
    notification::{DirectoryRepository, FoundUsers, RecipientDirectory, SegmentPage},
};

use crate::outbox::handle::SeaOrmOutbox;

const DIRECTORY: &str = "directory";

#[async_trait]
impl RecipientDirectory for SeaOrmOutbox {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let ids = ids.to_vec();
        self.detached(DIRECTORY, move |state| async move { state.notifications.people.users(&ids).await })
            .await
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let (segment, from) = (segment.to_owned(), from.clone());
        self.detached(DIRECTORY, move |state| async move {
            state.notifications.people.members(&segment, &from, limit).await
        })
        .await
    }
}

#[async_trait]
impl DirectoryRepository for SeaOrmOutbox {
    async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError> {
        let users = users.to_vec();
        self.detached(DIRECTORY, move |state| async move {
            state.notifications.people.put(&users, segment.as_deref()).await
        })
        .await
    }

    async fn put_members(&self, segment: &str, users: &[String]) -> Result<Vec<String>, StoreError> {
        let (segment, users) = (segment.to_owned(), users.to_vec());
        self.detached(DIRECTORY, move |state| async move {
            state.notifications.people.put_members(&segment, &users).await
        })
        .await
    }

    async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError> {
        let (segment, users) = (segment.to_owned(), users.to_vec());
        self.detached(DIRECTORY, move |state| async move {
            state.notifications.people.remove_members(&segment, &users).await
        })
        .await
    }

    async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError> {
        let user = user.to_owned();
        self.detached(DIRECTORY, move |state| async move { state.notifications.people.entry(&user).await })
            .await
    }

    async fn list(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError> {
        let from = from.clone();
        self.detached(
            DIRECTORY,
            move |state| async move { state.notifications.people.page(&from, limit).await },
        )
        .await
    }

    async fn remove(&self, user: &str) -> Result<bool, StoreError> {
        let user = user.to_owned();
        self.detached(DIRECTORY, move |state| async move { state.notifications.people.remove(&user).await })
            .await
    }
}
