use std::{collections::HashSet, sync::Arc};

use claimstream_domain::notification::{FanOut, Priority};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    database::{
        args::bytes,
        clock::micros,
        typed_row::row,
        unit::{rows, run},
    },
    dead_letters::letters::ids_args,
    sweep::{
        round::{KEEP_INSTANCES, Round, first_id_of},
        sweeper::Sweeper,
        swept::SWEEP,
    },
};

/// Requests whose fan-outs are dead letters; they are kept.
#[derive(Clone, Default)]
struct Revivable {
    requests: HashSet<Uuid>,
    /// There are more than were read, so every failed request may be one of them.
    are_more: bool,
}

impl Revivable {
    /// So many dead letters are read.
    const MOST: usize = 10_000;

    fn may_have(&self, request: Uuid, status: &str) -> bool {
        self.requests.contains(&request) || (self.are_more && status == "FAILED")
    }
}

impl Round {
    /// Requests that were settled before the bound, with their messages. They are found as bodies are.
    pub(super) async fn requests(&mut self, bound: i64) -> Result<u64, StoreError> {
        let revivable = self.unit(|sweeper| async move { sweeper.revivable().await }).await?;
        let tomorrow = self.sweeper.db.clock.local().max(bound).saturating_add(micros(KEEP_INSTANCES));
        let mut swept = 0;
        for (from, last) in [(Uuid::nil(), first_id_of(bound)), (first_id_of(tomorrow), Uuid::max())] {
            let mut after = from;
            loop {
                let revivable = revivable.clone();
                let chunk = move |sweeper: Arc<Sweeper>, most| async move {
                    sweeper.sweep_requests(&revivable, after, last, bound, most).await
                };
                let Some((newest, deleted)) = self.chunk(chunk).await? else { break };
                (after, swept) = (newest, swept + deleted);
            }
        }
        Ok(swept)
    }
}

impl Sweeper {
    /// The requests whose fan-outs are dead letters.
    async fn revivable(&self) -> Result<Revivable, StoreError> {
        let args = self
            .db
            .args()
            .with_list("queues", Priority::ALL.map(|priority| priority.request_queue().into()))
            .with("limit", Revivable::MOST as i64);
        let sql = &self.db.sql.request_sweep.dead;
        let found = self.db.restarting(|| rows(self.db.relay(), SWEEP, sql.bind(&args))).await?;
        let mut revivable = Revivable { requests: HashSet::new(), are_more: found.len() == Revivable::MOST };
        for row in found {
            let fan_out = serde_json::from_slice::<FanOut>(&row.bytes("payload")?);
            revivable.requests.extend(fan_out.map(|fan_out| fan_out.request));
        }
        Ok(revivable)
    }

    /// Deletes some requests between two ids that were settled before the bound: the last one that was looked at, and how many
    /// went; `None` if there is none.
    async fn sweep_requests(
        &self,
        revivable: &Revivable,
        after: Uuid,
        last: Uuid,
        bound: i64,
        most: u32,
    ) -> Result<Option<(Uuid, u64)>, StoreError> {
        let args = self.db.args().with("after", bytes(after)).with("last", bytes(last));
        let args = args.with("bound", bound).with("limit", i64::from(most));
        let sql = &self.db.sql.request_sweep.page;
        let page = self.db.restarting(|| rows(self.db.relay(), SWEEP, sql.bind(&args))).await?;
        let page = page.iter().map(RequestRow::read).collect::<Result<Vec<_>, _>>()?;
        let Some(newest) = page.last().map(|row| row.id) else { return Ok(None) };
        let going = page.into_iter().filter(|row| !revivable.may_have(row.id, &row.status));
        let ids: Vec<Uuid> = going.map(|row| row.id).collect();
        if ids.is_empty() {
            return Ok(Some((newest, 0)));
        }
        let most = i64::from(most.max(100));
        while self.db.restarting(|| self.sweep_messages(&ids, most)).await? {}
        let deleted = self.db.restarting(|| self.delete_requests(&ids, bound, most)).await?;
        Ok(Some((newest, deleted)))
    }

    /// Deletes records of requests while there are more than go together with their requests.
    async fn sweep_messages(&self, requests: &[Uuid], most: i64) -> Result<bool, StoreError> {
        let args = ids_args(&self.db, requests).with("limit", most);
        let page = rows(self.db.relay(), SWEEP, self.db.sql.request_sweep.messages.bind(&args)).await?;
        if (page.len() as i64) < most {
            return Ok(false);
        }
        let ids = page.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
        let transaction = self.begin().await?;
        self.delete_messages(&transaction, &ids).await?;
        self.db.commit(SWEEP, transaction).await?;
        Ok(true)
    }

    /// Deletes records, items of digests, and what providers said of their messages. A receipt that comes meanwhile waits for the record's lock and
    /// finds none then.
    async fn delete_messages(&self, on: &impl ConnectionTrait, ids: &[Uuid]) -> Result<(), StoreError> {
        let sql = &self.db.sql.request_sweep;
        for statement in [&sql.messages_delete, &sql.receipts, &self.db.sql.digests.forget] {
            run(on, SWEEP, statement.bind(&ids_args(&self.db, ids))).await?;
        }
        Ok(())
    }

    /// Deletes requests with the last of their records in one transaction, so that their counts never show a part of them.
    async fn delete_requests(&self, requests: &[Uuid], bound: i64, most: i64) -> Result<u64, StoreError> {
        let sql = &self.db.sql.request_sweep;
        let transaction = self.begin().await?;
        let args = ids_args(&self.db, requests).with("bound", bound);
        let deleted = run(&transaction, SWEEP, sql.delete.bind(&args)).await?;
        if deleted == requests.len() as u64 {
            let args = ids_args(&self.db, requests).with("limit", most);
            let page = rows(&transaction, SWEEP, sql.messages.bind(&args)).await?;
            let ids = page.iter().map(|row| row.uuid("id")).collect::<Result<Vec<_>, _>>()?;
            if !ids.is_empty() {
                self.delete_messages(&transaction, &ids).await?;
            }
            let erasures = sql.erasures.bind(&ids_args(&self.db, requests));
            run(&transaction, SWEEP, erasures).await?;
            self.db.commit(SWEEP, transaction).await?;
            return Ok(deleted);
        }
        // One of them was taken up meanwhile; the next sweep finds the others.
        self.db.roll_back(SWEEP, transaction).await?;
        Ok(0)
    }
}

row! {
    /// A request of which nothing more will come.
    struct RequestRow of "request_sweep/page" { id: Uuid, status: String }
}
