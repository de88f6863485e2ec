use claimstream_sea_orm::SchemaExtra;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, Statement, Value,
};
use uuid::Uuid;

use super::Shop;
use crate::backend::SeaOrmBackend;

/// A client of one connection, in a shop that has the routine.
pub(super) struct Client {
    pub(super) shop: Shop,
    pub(super) db: DatabaseConnection,
}

/// The arguments of a call: those that most calls leave alone are NULL.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) queue: Value,
    pub(super) payload: Value,
    pub(super) content_type: Value,
    pub(super) ordering_key: Value,
    pub(super) dedup_key: Value,
    pub(super) headers: Value,
    pub(super) delay_ms: Value,
    pub(super) id: Value,
}

/// What a call answers.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) id: Uuid,
    pub(super) is_new: bool,
}

impl Client {
    pub(super) async fn of(backend: &SeaOrmBackend) -> Self {
        Self::in_shop(Shop::open(backend, backend.options()).await).await
    }

    pub(super) async fn in_shop(shop: Shop) -> Self {
        shop.outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect("the routine");
        let db = connect(&shop.url).await;
        Self { shop, db }
    }

    pub(super) fn call(&self) -> Call {
        let none = || Value::String(None);
        Call {
            queue: self.shop.instance.queue().as_str().into(),
            payload: Value::from(b"{}".to_vec()),
            content_type: none(),
            ordering_key: none(),
            dedup_key: none(),
            headers: none(),
            delay_ms: Value::BigInt(None),
            id: none(),
        }
    }

    pub(super) async fn run(&self, sql: &str) {
        self.db.execute_unprepared(sql).await.expect(sql);
    }

    pub(super) async fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        let row = self.db.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await;
        row.expect("a count").expect("a row").try_get_by_index(0).expect("a number")
    }

    /// How many rows there are of bodies, entries and dedup keys.
    pub(super) async fn counts(&self) -> [i64; 3] {
        [
            self.count("claimstream_message").await,
            self.count("claimstream_queue").await,
            self.count("claimstream_dedup").await,
        ]
    }
}

impl Call {
    pub(super) async fn on(self, db: &DatabaseConnection) -> Result<Answer, DbErr> {
        let Self { queue, payload, content_type, ordering_key, dedup_key, headers, delay_ms, id } = self;
        let values = [queue, payload, content_type, ordering_key, dedup_key, headers, delay_ms, id];
        let call = "CALL claimstream_enqueue(?, ?, ?, ?, ?, ?, ?, ?)";
        let row = db.query_one_raw(Statement::from_sql_and_values(DbBackend::MySql, call, values)).await?;
        let row = row.ok_or_else(|| DbErr::Custom("no row".into()))?;
        let id: String = row.try_get("", "id")?;
        let is_new: i64 = row.try_get("", "is_new")?;
        Ok(Answer { id: id.parse().expect("a UUID"), is_new: is_new == 1 })
    }
}

pub(super) async fn connect(url: &str) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url.to_owned());
    options.max_connections(1).sqlx_logging(false);
    Database::connect(options).await.expect("connect")
}
