use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use claimstream_domain::{
    Enqueued, Invalid, NewMessage,
    notification::{
        delivery_message,
        digest::{DigestItem, KeptItem, NewDigestItem},
    },
};
use claimstream_ports::{StoreError, StoreErrorKind, notification::DigestPlace};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        Database,
        args::{Args, bytes},
        classify::corrupt,
        clock::micros,
        typed_row::row,
        unit::{rows, run},
    },
    enqueue::rows::Enqueueing,
    notifications::statuses::delivery_status,
};

const DIGEST: &str = "digest";

/// Keeps messages that wait to be delivered together.
///
/// A digest is locked by the row of its key. Steps of fan-outs lock requests, records, then keys, each kind in order; closing locks
/// keys alone.
pub(crate) struct DigestRows {
    pub(crate) db: Arc<Database>,
    pub(crate) enqueueing: Arc<Enqueueing>,
}

impl DigestRows {
    /// How many rows one statement names.
    const IDS: usize = 500;

    /// Takes items in whose records are pending, in the transaction that keeps their records: `is_new` says which of these were not
    /// kept before.
    pub(crate) async fn join(
        &self,
        on: &impl ConnectionTrait,
        items: Vec<&NewDigestItem>,
        is_new: impl Fn(Uuid) -> bool,
    ) -> Result<(), StoreError> {
        let (new, again): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| is_new(id_of(item)));
        self.enqueue_alone(on, &again).await?;
        let mut by_key = BTreeMap::<Uuid, Vec<&NewDigestItem>>::new();
        for item in new {
            by_key.entry(item.item.key()).or_default().push(item);
        }
        by_key.values_mut().for_each(|items| items.sort_unstable_by_key(|item| id_of(item)));
        if by_key.is_empty() {
            return Ok(());
        }
        let joined = self.join_open(on, &by_key).await?;
        let (mut opened, mut kept) = (Vec::new(), Vec::new());
        for (key, items) in by_key {
            let digest =
                *joined.get(&key).ok_or_else(|| corrupt(DIGEST, "a digest that was joined is gone"))?;
            for new in items {
                if id_of(new) == digest {
                    opened.push(new.item.opening(new.window).map_err(unfit)?);
                }
                kept.push(item_row(&new.item, digest)?);
            }
        }
        for statement in self.db.inserts(&self.db.sql.digests.item, &kept) {
            run(on, DIGEST, statement).await?;
        }
        match self.enqueueing.enqueue(on, &opened).await?.contains(&Enqueued::Duplicate) {
            false => Ok(()),
            // It would be delivered by itself, and the items behind it never.
            true => {
                Err(StoreError::new(StoreErrorKind::Conflict, DIGEST, "a message has the id of a digest"))
            }
        }
    }

    /// The digest of each key that its items are in: the one that is open, or that of the first of them.
    async fn join_open(
        &self,
        on: &impl ConnectionTrait,
        by_key: &BTreeMap<Uuid, Vec<&NewDigestItem>>,
    ) -> Result<HashMap<Uuid, Uuid>, StoreError> {
        let row = |(key, items): (&Uuid, &Vec<&NewDigestItem>)| {
            let args = Args::new().with("key", bytes(*key)).with("id", bytes(id_of(items[0])));
            let room: i64 = items.iter().map(|new| i64::from(new.item.room())).sum();
            args.with("items", room).with("window", micros(items[0].window))
        };
        let (sql, rows_in) = (&self.db.sql.digests, by_key.iter().map(row).collect::<Vec<_>>());
        let common = self.db.args().with("most", i64::from(DigestItem::MOST));
        for part in rows_in.chunks(Self::IDS) {
            run(on, DIGEST, sql.join.bind_rows(&common, part)).await?;
        }
        let (keys, mut joined) = (by_key.keys().copied().collect::<Vec<_>>(), HashMap::new());
        for keys in keys.chunks(Self::IDS) {
            let args = self.db.args().with_list("keys", keys.iter().copied().map(bytes));
            for row in rows(on, DIGEST, sql.joined.bind(&args)).await? {
                let OpenRow { digest_key, digest_id } = OpenRow::read(&row)?;
                joined.insert(digest_key, digest_id);
            }
        }
        Ok(joined)
    }

    /// Enqueues messages by themselves whose records were kept before, unless they are items already.
    async fn enqueue_alone(
        &self,
        on: &impl ConnectionTrait,
        again: &[&NewDigestItem],
    ) -> Result<(), StoreError> {
        let (sql, mut known) = (&self.db.sql.digests, HashSet::new());
        for part in again.chunks(Self::IDS) {
            let args = self.db.args().with_list("ids", part.iter().map(|item| bytes(id_of(item))));
            for row in rows(on, DIGEST, sql.known.bind(&args)).await? {
                known.insert(row.uuid("id")?);
            }
        }
        let alone = again.iter().filter(|item| !known.contains(&id_of(item)));
        let alone: Result<Vec<NewMessage>, Invalid> =
            alone.map(|item| delivery_message(&item.item.message)).collect();
        let alone = alone.map_err(unfit)?;
        if !alone.is_empty() {
            self.enqueueing.enqueue(on, &alone).await?;
        }
        Ok(())
    }

    /// Closes digests, and reads their items.
    pub(crate) async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError> {
        let mut sorted = digests.to_vec();
        sorted.sort_unstable();
        let mut items = HashMap::<Uuid, Vec<KeptItem>>::new();
        for part in sorted.chunks(Self::IDS) {
            items.extend(self.db.restarting_beside(DIGEST, || self.close_part(part)).await?);
        }
        Ok(digests.iter().map(|digest| items.get(&digest.id).cloned().unwrap_or_default()).collect())
    }

    async fn close_part(&self, digests: &[DigestPlace]) -> Result<HashMap<Uuid, Vec<KeptItem>>, StoreError> {
        let sql = &self.db.sql.digests;
        let args = self.db.args().with_list("keys", digests.iter().map(|digest| bytes(digest.key)));
        let args = args.with_list("ids", digests.iter().map(|digest| bytes(digest.id)));
        let transaction = self.db.begin_beside(DIGEST).await?;
        run(&transaction, DIGEST, sql.close.bind(&args)).await?;
        let found = rows(&transaction, DIGEST, sql.items.bind(&args)).await?;
        self.db.commit(DIGEST, transaction).await?;
        let mut items = HashMap::<Uuid, Vec<KeptItem>>::new();
        for row in found {
            let ItemRow { digest_id, item, status } = ItemRow::read(&row)?;
            // A record that was swept takes its item with it.
            let Some(status) = status else { continue };
            let item = serde_json::from_slice(&item).map_err(|e| corrupt(DIGEST, e))?;
            let kept = KeptItem { item, status: delivery_status(&status)? };
            items.entry(digest_id).or_default().push(kept);
        }
        Ok(items)
    }

    /// Forgets the items of messages of an erased recipient, and the digests that they have opened.
    pub(crate) async fn forget(&self, on: &impl ConnectionTrait, ids: &Args) -> Result<(), StoreError> {
        let sql = &self.db.sql.digests;
        let opened = rows(on, DIGEST, sql.opened.bind(ids)).await?;
        let keys = opened.iter().map(|row| row.uuid("digest_key")).collect::<Result<Vec<_>, _>>()?;
        for keys in keys.chunks(Self::IDS) {
            // Found without a lock, and locked by their keys as all others do.
            let keys = ids.clone().with_list("keys", keys.iter().copied().map(bytes));
            run(on, DIGEST, sql.close.bind(&keys)).await?;
        }
        run(on, DIGEST, sql.forget.bind(ids)).await?;
        Ok(())
    }
}

fn id_of(new: &NewDigestItem) -> Uuid {
    new.item.message.id
}

fn item_row(item: &DigestItem, digest: Uuid) -> Result<Args, StoreError> {
    let json = serde_json::to_vec(item).map_err(|e| corrupt(DIGEST, e))?;
    Ok(Args::new().with("id", bytes(item.message.id)).with("digest_id", bytes(digest)).with("item", json))
}

fn unfit(invalid: Invalid) -> StoreError {
    corrupt(DIGEST, invalid)
}

row! {
    struct OpenRow of "digests/joined" { digest_key: Uuid, digest_id: Uuid }
}

row! {
    struct ItemRow of "digests/items" { digest_id: Uuid, item: Vec<u8>, status: Option<String> }
}
