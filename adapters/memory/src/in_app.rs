use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    Timestamp,
    notification::{InAppEntry, InAppPage, NewInAppEntry},
};
use claimstream_ports::{StoreError, notification::InAppInbox};
use uuid::Uuid;

use crate::{clock::between, store::MemoryStore, tables::InAppRow};

#[async_trait]
impl InAppInbox for MemoryStore {
    async fn put(&self, entries: &[NewInAppEntry]) -> Result<(), StoreError> {
        let mut tables = self.database.tables();
        let now = self.database.now();
        for entry in
            entries.iter().filter(|entry| !tables.notifications.is_erased(entry.id)).collect::<Vec<_>>()
        {
            tables.in_app.put(entry, now);
        }
        Ok(())
    }

    async fn page(&self, page: &InAppPage) -> Result<Vec<InAppEntry>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        let after = match page.after {
            Some(after) => match tables.in_app.get(&page.user, after) {
                Some(row) => Some(row.place()),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let found = tables.in_app.newest(|row| {
            row.entry.user == page.user
                && !(page.only_unread && row.is_read)
                && after.is_none_or(|after| row.place() < after)
        });
        Ok(found.into_iter().take(page.limit as usize).map(|row| shown(row, now)).collect())
    }

    async fn unread(&self, user: &str) -> Result<u64, StoreError> {
        let tables = self.database.tables();
        let unread = tables.in_app.newest(|row| row.entry.user == user && !row.is_read).len() as u64;
        Ok(unread.min(InAppEntry::MOST_UNREAD))
    }

    async fn mark_read(&self, user: &str, ids: &[Uuid]) -> Result<u64, StoreError> {
        Ok(self.database.tables().in_app.mark_read(user, |row| ids.contains(&row.entry.id)))
    }

    async fn mark_read_up_to(&self, user: &str, newest: Uuid) -> Result<u64, StoreError> {
        let mut tables = self.database.tables();
        let Some(bound) = tables.in_app.get(user, newest).map(|row| row.at) else { return Ok(0) };
        Ok(tables.in_app.mark_read(user, |row| row.at <= bound))
    }

    async fn recent(
        &self,
        users: &[String],
        within: Duration,
        limit: u32,
    ) -> Result<Vec<InAppEntry>, StoreError> {
        let (tables, now) = (self.database.tables(), self.database.now());
        let fits = |row: &InAppRow| users.contains(&row.entry.user) && between(row.at, now) <= within;
        Ok(tables.in_app.newest(fits).into_iter().take(limit as usize).map(|row| shown(row, now)).collect())
    }

    async fn forget_older(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let now = self.database.now();
        Ok(self.database.tables().in_app.forget(limit as usize, |row| between(row.at, now) > age))
    }

    async fn forget_user(&self, user: &str, limit: u32) -> Result<u64, StoreError> {
        Ok(self.database.tables().in_app.forget(limit as usize, |row| row.entry.user == user))
    }
}

fn shown(row: &InAppRow, now: Timestamp) -> InAppEntry {
    InAppEntry { entry: row.entry.clone(), age: between(row.at, now), is_read: row.is_read }
}
