use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::{DirectoryEntry, Recipient, SegmentPlace};
use claimstream_ports::{
    StoreError,
    notification::{DirectoryRepository, FoundUsers, RecipientDirectory, SegmentPage},
};

use crate::{notifications::people::People, outbox::handle::SeaOrmOutbox};

const DIRECTORY: &str = "directory";

impl SeaOrmOutbox {
    /// Does work on the directory as a task of its own, which runs to its end even if the caller is cancelled.
    async fn on_people<T: Send + 'static, W: Future<Output = Result<T, StoreError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<People>) -> W + Send,
    ) -> Result<T, StoreError> {
        let people = Arc::clone(&self.rooms.notifications.people);
        self.rooms.db.detached(DIRECTORY, work(people)).await
    }
}

#[async_trait]
impl RecipientDirectory for SeaOrmOutbox {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let ids = ids.to_vec();
        self.on_people(|people| async move { people.users(&ids).await }).await
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        let (segment, from) = (segment.to_owned(), from.clone());
        self.on_people(move |people| async move { people.members(&segment, &from, limit).await }).await
    }
}

#[async_trait]
impl DirectoryRepository for SeaOrmOutbox {
    async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError> {
        let users = users.to_vec();
        self.on_people(|people| async move { people.put(&users, segment.as_deref()).await }).await
    }

    async fn put_members(&self, segment: &str, users: &[String]) -> Result<Vec<String>, StoreError> {
        let (segment, users) = (segment.to_owned(), users.to_vec());
        self.on_people(|people| async move { people.put_members(&segment, &users).await }).await
    }

    async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError> {
        let (segment, users) = (segment.to_owned(), users.to_vec());
        self.on_people(|people| async move { people.remove_members(&segment, &users).await }).await
    }

    async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError> {
        let user = user.to_owned();
        self.on_people(|people| async move { people.entry(&user).await }).await
    }

    async fn list(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError> {
        let from = from.clone();
        self.on_people(move |people| async move { people.page(&from, limit).await }).await
    }

    async fn remove(&self, user: &str) -> Result<bool, StoreError> {
        let user = user.to_owned();
        self.on_people(|people| async move { people.remove(&user).await }).await
    }
}
