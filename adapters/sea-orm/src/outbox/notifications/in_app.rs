use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{InAppEntry, InAppPage, NewInAppEntry};
use claimstream_ports::{StoreError, notification::InAppInbox};
use uuid::Uuid;

use crate::outbox::handle::SeaOrmOutbox;

const IN_APP: &str = "in-app inbox";

#[async_trait]
impl InAppInbox for SeaOrmOutbox {
    async fn put(&self, entries: &[NewInAppEntry]) -> Result<(), StoreError> {
        let entries = entries.to_vec();
        self.detached(IN_APP, move |state| async move { state.notifications.in_app.put(&entries).await })
            .await
    }

    async fn page(&self, page: &InAppPage) -> Result<Vec<InAppEntry>, StoreError> {
        let page = page.clone();
        self.detached(IN_APP, move |state| async move { state.notifications.in_app.page(&page).await }).await
    }

    async fn unread(&self, user: &str) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.detached(IN_APP, move |state| async move { state.notifications.in_app.unread(&user).await })
            .await
    }

    async fn mark_read(&self, user: &str, ids: &[Uuid]) -> Result<u64, StoreError> {
        let (user, ids) = (user.to_owned(), ids.to_vec());
        self.detached(
            IN_APP,
            move |state| async move { state.notifications.in_app.mark_read(&user, &ids).await },
        )
        .await
    }

    async fn mark_read_up_to(&self, user: &str, newest: Uuid) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.detached(IN_APP, move |state| async move {
            state.notifications.in_app.mark_read_up_to(&user, newest).await
        })
        .await
    }

    async fn recent(
        &self,
        users: &[String],
        within: Duration,
        limit: u32,
    ) -> Result<Vec<InAppEntry>, StoreError> {
        let users = users.to_vec();
        self.detached(IN_APP, move |state| async move {
            state.notifications.in_app.recent(&users, within, limit).await
        })
        .await
    }

    async fn forget_older(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        self.detached(IN_APP, move |state| async move {
            state.notifications.in_app.forget_older(age, limit).await
        })
        .await
    }

    async fn forget_user(&self, user: &str, limit: u32) -> Result<u64, StoreError> {
        let user = user.to_owned();
        self.detached(IN_APP, move |state| async move {
            state.notifications.in_app.forget_user(&user, limit).await
        })
        .await
    }
}
