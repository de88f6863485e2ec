use std::collections::BTreeMap;

use claimstream_domain::{Timestamp, notification::NewInAppEntry};
use uuid::Uuid;

/// Inboxes of users inside the application.
#[derive(Debug, Default)]
pub(crate) struct InApp {
    entries: BTreeMap<Uuid, InAppRow>,
}

/// An entry, when it was put in, and whether it was read.
#[derive(Debug)]
pub(crate) struct InAppRow {
    pub(crate) entry: NewInAppEntry,
    pub(crate) at: Timestamp,
    pub(crate) is_read: bool,
}

impl InAppRow {
    /// Entries come by this, the last one first.
    pub(crate) fn place(&self) -> (Timestamp, Uuid) {
        (self.at, self.entry.id)
    }
}

impl InApp {
    /// Puts an entry in, unless it is known.
    pub(crate) fn put(&mut self, entry: &NewInAppEntry, at: Timestamp) {
        self.entries.entry(entry.id).or_insert_with(|| InAppRow { entry: entry.clone(), at, is_read: false });
    }

    /// One of a user's entries.
    pub(crate) fn get(&self, user: &str, id: Uuid) -> Option<&InAppRow> {
        self.entries.get(&id).filter(|row| row.entry.user == user)
    }

    /// The entries that fit, the newest first.
    pub(crate) fn newest(&self, fits: impl Fn(&InAppRow) -> bool) -> Vec<&InAppRow> {
        let mut found: Vec<_> = self.entries.values().filter(|row| fits(row)).collect();
        found.sort_by_key(|row| std::cmp::Reverse(row.place()));
        found
    }

    /// Notes that those of a user's entries were read that fit, and answers how many were unread.
    pub(crate) fn mark_read(&mut self, user: &str, fits: impl Fn(&InAppRow) -> bool) -> u64 {
        let unread =
            self.entries.values_mut().filter(|row| row.entry.user == user && !row.is_read && fits(row));
        unread.map(|row| row.is_read = true).count() as u64
    }

    /// Forgets entries that fit, the oldest first, at most so many, and answers how many.
    pub(crate) fn forget(&mut self, limit: usize, fits: impl Fn(&InAppRow) -> bool) -> u64 {
        let oldest = self.newest(fits).into_iter().rev().take(limit);
        let ids: Vec<_> = oldest.map(|row| row.entry.id).collect();
        ids.iter().filter(|id| self.entries.remove(id).is_some()).count() as u64
    }
}
