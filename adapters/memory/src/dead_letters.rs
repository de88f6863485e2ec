use async_trait::async_trait;
use claimstream_domain::{
    DeadLetter, DeadLetterFilter, DeadLetterGroups, DeadLetterListed, DeadLetterPage, DeadLetterPlace,
    QueueStatus,
};
use claimstream_ports::{DeadLetters, Observe, StoreError};

use crate::{database::corrupt, store::MemoryStore};

#[async_trait]
impl DeadLetters for MemoryStore {
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        let mut letters = self.database.tables().outbox.dead_letters(filter, self.database.now());
        letters.truncate(limit as usize);
        Ok(letters)
    }

    async fn page(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterPlace>,
        limit: u32,
    ) -> Result<DeadLetterPage, StoreError> {
        let mut letters = self.letters(filter);
        letters.retain(|(place, _)| after.is_none_or(|after| *place < after));
        let is_last = letters.len() <= limit as usize;
        letters.truncate(limit as usize);
        let next = if is_last { None } else { letters.last().map(|(place, _)| *place).or(after) };
        Ok(DeadLetterPage { letters: letters.into_iter().map(|(_, letter)| letter).collect(), next })
    }

    async fn count(&self, filter: &DeadLetterFilter, most: u64) -> Result<u64, StoreError> {
        Ok(most.min(self.letters(filter).len() as u64))
    }

    async fn groups(&self, filter: &DeadLetterFilter, most: u32) -> Result<DeadLetterGroups, StoreError> {
        let mut letters: Vec<_> = self.letters(filter).into_iter().map(|(_, letter)| letter).collect();
        let is_complete = letters.len() <= most as usize;
        letters.truncate(most as usize);
        Ok(DeadLetterGroups::of(&letters, is_complete))
    }

    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        let mut tables = self.database.tables();
        tables.outbox.revive(filter, self.database.now()).map_err(|e| corrupt("revive", e))
    }

    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        Ok(self.database.tables().outbox.purge(filter, self.database.now()))
    }
}

impl MemoryStore {
    fn letters(&self, filter: &DeadLetterFilter) -> Vec<(DeadLetterPlace, DeadLetterListed)> {
        self.database.tables().outbox.dead_letter_list(filter, self.database.now())
    }
}

#[async_trait]
impl Observe for MemoryStore {
    async fn observe(&self) -> Result<Vec<QueueStatus>, StoreError> {
        Ok(self.database.tables().outbox.observe(self.database.now()))
    }
}
