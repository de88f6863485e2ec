use async_trait::async_trait;
use claimstream_domain::{
    Invalid,
    notification::{DirectoryEntry, Recipient, SegmentPlace},
};
use claimstream_ports::{
    StoreError,
    notification::{DirectoryRepository, FoundUsers, RecipientDirectory, SegmentPage},
};

use crate::{database::corrupt, store::MemoryStore};

#[async_trait]
impl RecipientDirectory for MemoryStore {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        let tables = self.database.tables();
        Ok(ids.iter().map(|id| tables.people.user(id).cloned()).collect::<Vec<_>>().into())
    }

    async fn members(
        &self,
        segment: &str,
        from: &SegmentPlace,
        limit: u32,
    ) -> Result<Option<SegmentPage>, StoreError> {
        Ok(self.database.tables().people.members(segment, from, limit))
    }
}

#[async_trait]
impl DirectoryRepository for MemoryStore {
    async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError> {
        users.iter().try_for_each(DirectoryEntry::check_user).map_err(refused)?;
        segment.as_deref().map_or(Ok(()), DirectoryEntry::check_segment).map_err(refused)?;
        let mut tables = self.database.tables();
        for user in users {
            let id = user.user.clone().unwrap_or_default();
            if let Some(segment) = &segment {
                tables.people.segment(segment).insert(id.clone());
            }
            let user = Recipient { key: Recipient::user(&id).key, ..user.clone() };
            tables.people.put(id, user);
        }
        if let Some(segment) = &segment {
            tables.people.segment(segment);
        }
        Ok(())
    }

    async fn put_members(&self, segment: &str, users: &[String]) -> Result<Vec<String>, StoreError> {
        DirectoryEntry::check_segment(segment).map_err(refused)?;
        let mut tables = self.database.tables();
        let unknown = users.iter().filter(|id| tables.people.user(id).is_none());
        let unknown: Vec<String> = unknown.cloned().collect();
        if unknown.is_empty() {
            tables.people.segment(segment).extend(users.iter().cloned());
        }
        Ok(unknown)
    }

    async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError> {
        Ok(self.database.tables().people.remove_members(segment, users))
    }

    async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError> {
        Ok(self.database.tables().people.entry(user))
    }

    async fn list(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError> {
        Ok(self.database.tables().people.page(from, limit))
    }

    async fn remove(&self, user: &str) -> Result<bool, StoreError> {
        Ok(self.database.tables().people.remove(user))
    }
}

fn refused(invalid: Invalid) -> StoreError {
    corrupt("directory", invalid)
}
