use std::sync::Arc;

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
        let (db, filter) = (Arc::clone(&self.rooms.db), filter.clone());
        self.rooms.db.detached(DEAD, async move { letters::list(&db, &filter, limit).await }).await
    }

    async fn page(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterPlace>,
        limit: u32,
    ) -> Result<DeadLetterPage, StoreError> {
        let (db, filter) = (Arc::clone(&self.rooms.db), filter.clone());
        let work = async move { listing::page(&db, &filter, after, limit).await };
        self.rooms.db.detached(DEAD, work).await
    }

    async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError> {
        let (db, filter) = (Arc::clone(&self.rooms.db), filter.clone());
        self.rooms.db.detached(DEAD, async move { listing::count(&db, &filter, most).await }).await
    }

    async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError> {
        let (db, filter) = (Arc::clone(&self.rooms.db), filter.clone());
        self.rooms.db.detached(DEAD, async move { listing::groups(&db, &filter, most).await }).await
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
        let (db, filter) = (Arc::clone(&self.rooms.db), filter.clone());
        self.rooms.db.detached(DEAD, async move { letters::move_all(&db, &filter, what).await }).await
    }
}
