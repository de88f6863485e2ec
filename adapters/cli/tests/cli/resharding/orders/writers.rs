use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{NewMessage, ShardCount};
use claimstream_ports::StoreError;
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, DbErr, SqliteTransactionMode, TransactionOptions,
    TransactionTrait,
};
use tokio::{task::JoinHandle, time::sleep};
use uuid::Uuid;

use super::{QUEUE, message};

/// Of each writer.
const KEYS: usize = 40;

/// What writers share.
#[derive(Clone)]
pub(super) struct Hand {
    pub(super) written: Arc<AtomicUsize>,
    /// How often a transaction is begun again that a node has rolled back.
    pub(super) tries: u32,
}

impl Hand {
    /// Writes a round every tenth of a second until it is stopped.
    pub(super) fn keep_writing<F: Future<Output = ()> + Send>(
        self,
        stop: &Arc<AtomicBool>,
        write: impl Fn(Self, usize) -> F + Send + 'static,
    ) -> JoinHandle<()> {
        let stop = Arc::clone(stop);
        tokio::spawn(async move {
            let mut number = 0;
            while !stop.load(Ordering::SeqCst) {
                number += 1;
                write(self.clone(), number).await;
                sleep(Duration::from_millis(100)).await;
            }
        })
    }

    /// The next message of each key, by the library.
    pub(super) async fn write_round(&self, writer: &SeaOrmOutbox, number: usize) {
        let all: Vec<NewMessage> = (0..KEYS).map(|key| message(&format!("customer-{key}"), number)).collect();
        let (in_own, now) = all.split_at(KEYS / 2);
        let mut tries = 0;
        while self.is_refused(write_in_transaction(writer, in_own).await, &mut tries).await {}
        tries = 0;
        while self.is_refused(writer.enqueue_now(now).await, &mut tries).await {}
        self.written.fetch_add(KEYS, Ordering::SeqCst);
    }

    /// Whether a node has rolled it back, so that it is to be done again with the same messages.
    async fn is_refused<T: Debug, E: Debug>(&self, written: Result<T, E>, tries: &mut u32) -> bool {
        *tries += 1;
        if *tries < self.tries && written.is_err() {
            sleep(Duration::from_millis(20)).await;
            return true;
        }
        written.unwrap();
        false
    }

    /// The next message of each key, by INSERT, as a program of any language writes them that has counted the shards when it began.
    pub(super) async fn insert_round(&self, db: &DatabaseConnection, number: usize) {
        let shards = ShardCount::new(16).unwrap();
        for key in 0..KEYS / 8 {
            let key = format!("inserted-{key}");
            let (id, shard) = (Uuid::now_v7(), shards.shard_of_bytes(key.as_bytes()).number());
            let (id, now) = (format!("X'{}'", id.simple()), now(db));
            let payload = format!("{key} {number}").bytes().map(|b| format!("{b:02x}")).collect::<String>();
            let message = format!(
                "INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) \
                 VALUES ({id}, '{QUEUE}', {shard}, '{key}', NULL, 'text/plain', X'{payload}', {now})"
            );
            let entry = format!(
                "INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES ('{QUEUE}', {shard}, {now}, {id})"
            );
            let mut tries = 0;
            while self.is_refused(insert(db, &message, &entry).await, &mut tries).await {}
            self.written.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn write_in_transaction(writer: &SeaOrmOutbox, messages: &[NewMessage]) -> Result<(), StoreError> {
    let tx = writer.begin().await?;
    writer.enqueue_on(&tx, messages).await?;
    writer.commit(tx).await
}

fn now(db: &DatabaseConnection) -> &'static str {
    match db.get_database_backend() {
        DbBackend::Sqlite => "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
        _ => "UTC_TIMESTAMP(6)",
    }
}

/// Where its commit was answered by an error, and had come to pass, the row is known the next time.
async fn insert(db: &DatabaseConnection, message: &str, entry: &str) -> Result<(), DbErr> {
    let tx = match db.get_database_backend() {
        DbBackend::Sqlite => {
            let mode = SqliteTransactionMode::Immediate;
            let options =
                TransactionOptions { sqlite_transaction_mode: Some(mode), ..TransactionOptions::default() };
            db.begin_with_options(options).await?
        }
        _ => db.begin().await?,
    };
    match tx.execute_unprepared(message).await {
        Err(known) if known.to_string().contains("Duplicate entry") => return tx.rollback().await,
        inserted => inserted.map(|_| ())?,
    }
    tx.execute_unprepared(entry).await?;
    tx.commit().await
}
