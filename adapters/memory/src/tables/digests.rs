use std::collections::BTreeMap;

use claimstream_domain::{
    Invalid, NewMessage, Timestamp,
    notification::{
        NotificationMessage, delivery_message,
        digest::{DigestItem, NewDigestItem},
    },
};
use claimstream_ports::notification::DigestPlace;
use uuid::Uuid;

use crate::clock::after;

/// Digests as they have been committed.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// The digest that items of a key join.
    open: BTreeMap<Uuid, OpenDigest>,
    /// Items by their message.
    items: BTreeMap<Uuid, ItemRow>,
}

#[derive(Debug)]
struct ItemRow {
    digest: Uuid,
    came_at: Timestamp,
    item: DigestItem,
}

#[derive(Debug)]
struct OpenDigest {
    id: Uuid,
    closes_at: Timestamp,
    /// What its items take of its room.
    room: u32,
}

impl Digests {
    /// Takes an item in whose record was new or not, and answers the outbox message that comes with it.
    pub(crate) fn join(
        &mut self,
        new: &NewDigestItem,
        is_new: bool,
        now: Timestamp,
    ) -> Option<Result<NewMessage, Invalid>> {
        let (item, id) = (&new.item, new.item.message.id);
        if self.items.contains_key(&id) {
            return None;
        }
        if !is_new {
            return Some(delivery_message(&item.message));
        }
        let open = self.open.get_mut(&item.key());
        if let Some(open) = open.filter(|open| open.closes_at > now && open.room < DigestItem::MOST) {
            open.room += item.room();
            let row = ItemRow { digest: open.id, came_at: now, item: item.clone() };
            self.items.insert(id, row);
            return None;
        }
        let open = OpenDigest { id, closes_at: after(now, new.window), room: item.room() };
        self.open.insert(item.key(), open);
        self.items.insert(id, ItemRow { digest: id, came_at: now, item: item.clone() });
        Some(item.opening(new.window))
    }

    /// Closes a digest and answers its items.
    pub(crate) fn close(&mut self, digest: &DigestPlace) -> Vec<DigestItem> {
        if self.open.get(&digest.key).is_some_and(|open| open.id == digest.id) {
            self.open.remove(&digest.key);
        }
        let mut items: Vec<&ItemRow> = self.items.values().filter(|row| row.digest == digest.id).collect();
        items.sort_by_key(|row| row.came_at);
        items.into_iter().map(|row| row.item.clone()).collect()
    }

    /// The message of an item.
    pub(crate) fn message(&self, id: Uuid) -> Option<&NotificationMessage> {
        self.items.get(&id).map(|row| &row.item.message)
    }

    /// Forgets the items of messages that are gone, and closes the digests that they have opened.
    pub(crate) fn forget(&mut self, is_gone: impl Fn(Uuid) -> bool) {
        self.items.retain(|id, _| !is_gone(*id));
        self.open.retain(|_, open| !is_gone(open.id));
    }
}
