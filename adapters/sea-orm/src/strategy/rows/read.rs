use std::sync::atomic::Ordering;

use claimstream_domain::{
    Claimed, Disposition, Locator, Message, MessageId, Reason, Receipt, Settlement, Shard, waited,
};
use claimstream_ports::StoreError;

use crate::{
    database::{
        dialect::Dialect,
        typed_row::columns,
        unit::{Row, rows},
    },
    messages::{
        body::{Body, BodyColumns, BodyRow, bodies, inline},
        by_id::ById,
        unreadable::{given_up, log_dead},
    },
    strategy::rows::row_claim::{CLAIM, RowClaim},
};

impl RowClaim<'_> {
    /// Reads the marked messages with their bodies, oldest first, as far as the budget reaches; the others are given back.
    pub(super) async fn read(&self) -> Result<Vec<Claimed>, StoreError> {
        let (db, store, queue) = (self.db(), self.store, &self.request.queue);
        let asked = db.timer().now();
        let found = self.marked_rows().await?;
        let Some(first) = found.first() else {
            store.weights.note(queue, 0, 0);
            return Ok(Vec::new());
        };
        let (at, body_at) = (TakenColumns::of(first)?, BodyColumns::of(first)?);
        if db.dialect == Dialect::MySql {
            db.clock.note(first.int(at.now)?, asked);
        }
        let taken = found.into_iter().map(|row| Taken::of(row, &at));
        let mut found = taken.collect::<Result<Vec<_>, _>>()?;
        found.sort_by_key(|taken| (taken.due, taken.id));
        let bytes = found.iter().map(|taken| taken.bytes);
        store.weights.note(queue, bytes.clone().sum(), found.len());
        let fitting = self.request.budget.fitting(None, bytes);
        let left_out = found[..fitting].iter().filter(|taken| taken.is_heavy).map(|taken| taken.id);
        let bodies = self.bodies(left_out.collect()).await?;
        let in_full = !self.in_doubt.load(Ordering::Relaxed) && found.len() == self.marked as usize;
        let (mut claimed, mut unreadable) = (Vec::with_capacity(found.len()), Vec::new());
        let mut too_many = Vec::new();
        for (n, taken) in found.iter().enumerate() {
            let receipt = self.receipt(&taken.row, &at)?;
            if in_full {
                store.open.note(&receipt);
            }
            if n >= fitting {
                too_many.push(Settlement { receipt, disposition: Disposition::Returned });
                continue;
            }
            let (body, body_at) =
                bodies.get(&taken.id).map_or((&taken.row, &body_at), |body| (&body.row, &body.at));
            match self.claimed(&taken.row, &at, Body::read(body, body_at), receipt.clone()) {
                Ok(readable) => claimed.push((taken.due, readable)),
                Err(why) => unreadable.push(given_up(receipt, &why)),
            }
        }
        self.bury(unreadable).await;
        self.give_back(too_many).await;
        for shard in self.walk.visited() {
            let of_shard = claimed.iter().filter(|(_, claimed)| claimed.message.shard == *shard);
            if let Some(oldest) = of_shard.map(|(due, _)| *due).min() {
                store.known.raise(queue, *shard, oldest, db.clock.elapsed());
            }
        }
        Ok(claimed.into_iter().map(|(_, claimed)| claimed).collect())
    }

    /// The rows that carry this claim. They are ours whatever becomes of the connection.
    async fn marked_rows(&self) -> Result<Vec<Row>, StoreError> {
        let db = self.db();
        let args = self.read_args(self.walk.visited(), self.lease_end);
        let args = args.with("inline", inline(self.request.budget, self.marked as usize));
        match rows(&self.on, CLAIM, db.sql.claim.read.bind(&args)).await {
            Err(lost) => {
                db.note_trouble(&lost);
                self.on.rest();
                db.asking_back(|| rows(db.relay(), CLAIM, db.sql.claim.read.bind(&args))).await
            }
            found => found,
        }
    }

    async fn bodies(&self, left_out: Vec<MessageId>) -> Result<ById<BodyRow>, StoreError> {
        let db = self.db();
        match bodies(db, &self.on, CLAIM, &left_out, None).await {
            Err(lost) => {
                db.note_trouble(&lost);
                self.on.rest();
                db.asking_back(|| bodies(db, db.relay(), CLAIM, &left_out, None)).await
            }
            bodies => bodies,
        }
    }

    fn claimed(
        &self,
        row: &Row,
        at: &TakenColumns,
        body: Result<Body, StoreError>,
        receipt: Receipt,
    ) -> Result<Claimed, StoreError> {
        let Body { ordering_key, headers, payload } = body?;
        let (id, queue, shard) = (receipt.message, self.request.queue.clone(), receipt.shard);
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        let last_error = row.maybe_text(at.last_error)?.map(Reason::new);
        Ok(Claimed {
            message,
            receipt,
            attempt: row.number(at.attempts)?,
            last_error,
            place: Default::default(),
            waited: waited(row.int(at.claimed_from)?, None, row.int(at.now)?),
        })
    }

    fn receipt(&self, row: &Row, at: &TakenColumns) -> Result<Receipt, StoreError> {
        Ok(Receipt {
            message: MessageId::new(row.uuid(at.id)?),
            queue: self.request.queue.clone(),
            shard: Shard::from_number(row.number(at.shard)?),
            claim: self.request.claim,
            locator: Locator(self.lease_end),
        })
    }

    /// Gives up what cannot be read, so that it blocks no other message; the dead letters keep what there is of it.
    async fn bury(&self, unreadable: Vec<Settlement>) {
        if unreadable.is_empty() {
            return;
        }
        self.on.rest();
        let count = unreadable.len();
        match self.store.settle_rows(&unreadable).await {
            Ok(_) => {
                tracing::error!(count, "unreadable messages were buried");
                log_dead(&unreadable);
            }
            // They come back when their lease ends.
            Err(error) => {
                tracing::error!(count, %error, "unreadable messages could not be buried; they come again")
            }
        }
    }

    /// Gives back what the budget does not reach for; it is due at once.
    async fn give_back(&self, too_many: Vec<Settlement>) {
        if too_many.is_empty() {
            return;
        }
        self.on.rest();
        if let Err(error) = self.store.settle_rows(&too_many).await {
            // They come back when their lease ends.
            tracing::warn!(count = too_many.len(), %error, "messages beyond the byte budget were not given back; they come again when their leases end");
        }
        let stays_hot = |one: &Settlement| self.store.known.full(&self.request.queue, one.receipt.shard);
        too_many.iter().for_each(stays_hot);
    }
}

/// A row of `claim/read.sql`, as far as the choice needs to know it.
struct Taken {
    due: i64,
    id: MessageId,
    bytes: usize,
    /// Its payload was left out.
    is_heavy: bool,
    row: Row,
}

impl Taken {
    fn of(row: Row, at: &TakenColumns) -> Result<Self, StoreError> {
        let (due, id) = (row.int(at.claimed_from)?, MessageId::new(row.uuid(at.id)?));
        let bytes = row.maybe_int(at.bytes)?;
        let is_heavy = bytes.is_some() && row.maybe_lent(at.payload)?.is_none();
        Ok(Self { due, id, bytes: bytes.unwrap_or_default() as usize, is_heavy, row })
    }
}

columns! {
    struct TakenColumns of "claim/read" { id, shard, attempts, claimed_from, last_error, payload, bytes, now }
}
