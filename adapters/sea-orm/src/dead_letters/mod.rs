use std::{collections::HashSet, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{DeadLetter, DeadLetterFilter, Message, MessageId, QueueName, Reason, Shard};
use claimstream_ports::{DeadLetters, StoreError, StoreErrorKind};
use sea_orm::{ConnectionTrait, Statement};
use uuid::Uuid;

use crate::{
    database::typed_row::row,
    database::{
        args::{Args, bytes},
        classify::corrupt,
        clock::micros,
        unit::{Row, maybe, rows, run},
    },
    messages::body::{Body, BodyColumns},
    outbox::handle::SeaOrmOutbox,
    store::Store,
};

const DEAD: &str = "dead letters";

/// How many dead letters one transaction moves.
const CHUNK: u32 = 200;

#[async_trait]
impl DeadLetters for SeaOrmOutbox {
    async fn list(&self, filter: &DeadLetterFilter, limit: u32) -> Result<Vec<DeadLetter>, StoreError> {
        let (store, filter) = (self.store.clone(), filter.clone());
        let work = async move {
            let args = store.filter_args(&filter, limit);
            let found = store
                .restarting(|| rows(store.relay(), DEAD, store.sql.dead_letters.list.bind(&args)))
                .await?;
            found.iter().map(dead_letter).collect()
        };
        self.store.detached(DEAD, work).await
    }

    async fn revive(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.store.clone().move_in_chunks(filter.clone(), Move::Revive).await
    }

    async fn purge(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.store.clone().move_in_chunks(filter.clone(), Move::Purge).await
    }
}

#[derive(Clone, Copy)]
enum Move {
    Revive,
    Purge,
}

impl Store {
    async fn move_in_chunks(
        self: std::sync::Arc<Self>,
        filter: DeadLetterFilter,
        what: Move,
    ) -> Result<u64, StoreError> {
        let store = self.clone();
        let work = async move {
            store.clock.forget();
            let now = store.restarting(|| store.now(store.relay(), DEAD)).await?;
            let bound = now.saturating_sub(micros(filter.dead_for.unwrap_or_default())).max(0);
            let (mut after, mut moved) = (Uuid::nil(), 0);
            loop {
                let page = store.restarting(|| store.dead_page(&filter, after, bound)).await?;
                let Some(last) = page.last() else { return Ok(moved) };
                after = *last;
                moved += store.restarting(|| store.move_page(&page, bound, what)).await?;
            }
        };
        self.detached(DEAD, work).await
    }

    /// The ids that follow `after`; letters that die while the work goes on are not among them, so that it ends.
    async fn dead_page(
        &self,
        filter: &DeadLetterFilter,
        after: Uuid,
        bound: i64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let args = self.filter_args(filter, CHUNK).with("after", bytes(after)).with("bound", bound);
        rows(self.relay(), DEAD, self.sql.dead_letters.page.bind(&args))
            .await?
            .iter()
            .map(|row| row.uuid("id"))
            .collect()
    }

    async fn move_page(&self, page: &[Uuid], bound: i64, what: Move) -> Result<u64, StoreError> {
        let transaction = self.begin(DEAD).await?;
        let args = self.args().with_list("ids", page.iter().copied().map(bytes)).with("bound", bound);
        let found = rows(&transaction, DEAD, self.sql.dead_letters.lock.bind(&args)).await?;
        let ids = found.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
        match what {
            _ if ids.is_empty() => {}
            Move::Revive => self.revive_page(&transaction, ids).await?,
            Move::Purge => {
                run(&transaction, DEAD, self.sql.dead_letters.delete.bind(&self.ids_args(&ids))).await?;
            }
        }
        self.commit(DEAD, transaction).await?;
        Ok(found.len() as u64)
    }

    /// Makes dead letters live again. Their bodies are there and locked first, so that from then on nobody gets one of their
    /// ids; a letter whose id another message has by then is revived under an id of its own.
    async fn revive_page(&self, on: &impl ConnectionTrait, mut ids: Vec<Uuid>) -> Result<(), StoreError> {
        run(on, DEAD, self.sql.dead_letters.body.bind(&self.ids_args(&ids))).await?;
        let others = rows(on, DEAD, self.sql.dead_letters.others.bind(&self.ids_args(&ids))).await?;
        for row in &others {
            let id = row.uuid("id")?;
            ids.retain(|known| *known != id);
            ids.push(self.rename(on, DEAD, id).await?);
        }
        let args = self.ids_args(&ids);
        run(on, DEAD, self.sql.dead_letters.revive_message.bind(&args)).await?;
        run(on, DEAD, self.sql.dead_letters.revive_queue.bind(&args)).await?;
        run(on, DEAD, self.sql.dead_letters.delete.bind(&args)).await?;
        Ok(())
    }

    /// Writes dead letters. A letter that is there under the id of one of them makes room, and goes on under another id.
    pub(crate) async fn bury(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        letters: Statement,
        ids: &[Uuid],
    ) -> Result<(), StoreError> {
        match run(on, operation, letters.clone()).await {
            Err(known) if known.kind() == StoreErrorKind::Conflict => {}
            buried => return buried.map(|_| ()),
        }
        for row in rows(on, operation, self.sql.dead_letters.known.bind(&self.ids_args(ids))).await? {
            self.rename(on, operation, row.uuid("id")?).await?;
        }
        run(on, operation, letters).await.map(|_| ())
    }

    /// Gives a dead letter, and what it carries, another id.
    async fn rename(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        id: Uuid,
    ) -> Result<Uuid, StoreError> {
        let fresh = Uuid::now_v7();
        let args = self.args().with("id", bytes(id)).with("fresh", bytes(fresh));
        run(on, operation, self.sql.dead_letters.rename.bind(&args)).await?;
        run(on, operation, self.sql.dead_letters.body.bind(&self.ids_args(&[fresh]))).await?;
        tracing::warn!(%id, %fresh, "a second message has the id of a dead letter; the dead letter gets a new id");
        Ok(fresh)
    }

    /// Which of these messages are dead letters.
    pub(crate) async fn dead_among(
        &self,
        operation: &'static str,
        ids: &[Uuid],
    ) -> Result<HashSet<Uuid>, StoreError> {
        let known = self.sql.dead_letters.known.bind(&self.ids_args(ids));
        self.restarting(|| rows(self.relay(), operation, known.clone()))
            .await?
            .iter()
            .map(|row| row.uuid("id"))
            .collect()
    }

    pub(crate) fn ids_args(&self, ids: &[Uuid]) -> Args {
        self.args().with_list("ids", ids.iter().copied().map(bytes))
    }

    fn filter_args(&self, filter: &DeadLetterFilter, limit: u32) -> Args {
        self.args()
            .with("queue", maybe(filter.queue.as_ref().map(QueueName::as_str)))
            .with("all_ids", i32::from(filter.ids.is_empty()))
            .with_list("ids", filter.ids.iter().map(|id| bytes(id.uuid())))
            .with("dead_for", micros(filter.dead_for.unwrap_or_default()))
            .with("limit", i64::from(limit))
    }
}

row! {
    /// A dead letter beside its body.
    struct Letter of "dead_letters/list" {
        id: Uuid,
        queue: String,
        shard: u16,
        attempts: u32,
        reason: String,
        dead_for: i64,
    }
}

fn dead_letter(row: &Row) -> Result<DeadLetter, StoreError> {
    let Body { ordering_key, headers, payload } = Body::salvage(row, &BodyColumns::of(row)?)?;
    let letter = Letter::read(row)?;
    let message = Message {
        id: MessageId::new(letter.id),
        queue: QueueName::new(&letter.queue).map_err(|e| corrupt(DEAD, e))?,
        shard: Shard::from_number(letter.shard),
        ordering_key,
        headers,
        payload,
    };
    let dead_for = Duration::from_micros(u64::try_from(letter.dead_for).unwrap_or_default());
    Ok(DeadLetter { message, attempts: letter.attempts, reason: Reason::new(letter.reason), dead_for })
}
