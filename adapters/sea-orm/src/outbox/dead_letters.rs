use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter, DeadLetterGroups, DeadLetterPage, DeadLetterPlace};
use claimstream_ports::{DeadLetters, StoreError};

use crate::{
    dead_letters::{
        letters::{self, Move},
        listing,
    },
    outbox::handle::SeaOrmOutbox,
};

const DEAD: &str = "dead letters";

#[async_trait]
impl DeadLetters for SeaOrmOutbox {
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        let filter = filter.clone();
        self.detached(DEAD, move |state| async move { letters::list(&state.db, &filter, limit).await }).await
    }

    async fn page(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterPlace>,
        limit: u32,
    ) -> Result<DeadLetterPage, StoreError> {
        let filter = filter.clone();
        self.detached(DEAD, move |state| async move { listing::page(&state.db, &filter, after, limit).await })
            .await
    }

    async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError> {
        let filter = filter.clone();
        self.detached(DEAD, move |state| async move { listing::count(&state.db, &filter, most).await }).await
    }

    async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError> {
        let filter = filter.clone();
        self.detached(DEAD, move |state| async move { listing::groups(&state.db, &filter, most).await }).await
    }

    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.move_all(filter, Move::Revive).await
    }

    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.move_all(filter, Move::Purge).await
    }
}

impl SeaOrmOutbox {
    async fn move_all(&self, filter: &DeadLetterFilter, what: Move) -> Result<u64, StoreError> {
        let filter = filter.clone();
        self.detached(DEAD, move |state| async move { letters::move_all(&state.db, &filter, what).await })
            .await
    }
}
