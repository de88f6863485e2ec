use claimstream_domain::{OrderingKey, QueueName};
use claimstream_sea_orm::{Dialect, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Database, DbErr};
use uuid::Uuid;

/// The key of all messages of a test, so that all of them lie in one shard.
pub(super) const KEY: &str = "customer-7";

/// A message as a program in another language writes it: each value is the SQL for it.
#[derive(Clone)]
pub(super) struct ForeignRow {
    pub(super) uuid: Uuid,
    pub(super) id: String,
    pub(super) queue: String,
    pub(super) shard: String,
    pub(super) available_at: String,
    pub(super) ordering_key: String,
    pub(super) headers: String,
    pub(super) content_type: String,
    pub(super) payload: String,
    now: String,
    /// Whether there is a row of `claimstream_message`.
    pub(super) has_body: bool,
    /// How many rows of `claimstream_queue` there are.
    pub(super) entries: usize,
    /// Whether the session is one of those that write zero dates, as old programs do.
    pub(super) allows_zero_dates: bool,
    is_server: bool,
}

impl ForeignRow {
    /// A right one, due an hour ago, so that it stands before what is written now.
    pub(super) fn of(outbox: &SeaOrmOutbox, queue: &QueueName) -> Self {
        let (now, hour) = match outbox.dialect() {
            Dialect::MySql => ("UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) - INTERVAL 1 HOUR"),
            Dialect::Sqlite => {
                (SQLITE_NOW, "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) - 3600000000")
            }
        };
        let uuid = Uuid::now_v7();
        let key = OrderingKey::new(KEY).expect("a key");
        let shard = outbox.shards().shard_of(claimstream_domain::MessageId::new(uuid), Some(&key));
        Self {
            uuid,
            id: format!("x'{}'", uuid.simple()),
            queue: format!("'{queue}'"),
            shard: shard.number().to_string(),
            available_at: hour.into(),
            ordering_key: format!("'{KEY}'"),
            headers: r#"'{"x-tenant":"a"}'"#.into(),
            content_type: "'application/json'".into(),
            payload: "'{}'".into(),
            now: now.into(),
            has_body: true,
            entries: 1,
            allows_zero_dates: false,
            is_server: outbox.dialect() == Dialect::MySql,
        }
    }

    /// Writes it in one transaction, on a connection of its own.
    pub(super) async fn write(&self, url: &str) -> Result<(), DbErr> {
        let Self {
            id, queue, shard, available_at, ordering_key, headers, content_type, payload, now, ..
        } = self;
        let session =
            if self.allows_zero_dates && self.is_server { "SET SESSION sql_mode = '';" } else { "" };
        let mut script = format!("{session} BEGIN;");
        if self.has_body {
            script += &format!(
                "INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
                 VALUES ({id}, {queue}, {shard}, {ordering_key}, {headers}, {content_type}, {payload}, {now});"
            );
        }
        for available_at in [available_at, now].into_iter().take(self.entries) {
            script += &format!(
                "INSERT INTO claimstream_queue (queue, shard, available_at, id)
                 VALUES ({queue}, {shard}, {available_at}, {id});"
            );
        }
        let db = Database::connect(url).await?;
        let written = db.execute_unprepared(&format!("{script} COMMIT;")).await;
        db.close().await?;
        written.map(|_| ())
    }
}

const SQLITE_NOW: &str = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)";
