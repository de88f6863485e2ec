use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{StoreError, StoreErrorKind};
use claimstream_memory::MemoryTransaction;
use claimstream_steps::{
    Begun, NewStep, Step, StepChange, StepKey, StepLedger, StepResult,
    tcc::{BranchCall, Resource, ResourceError},
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, Statement, Value};

/// How many pieces of an item lie where; no transaction may change their sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stock {
    pub(super) available: i64,
    pub(super) reserved: i64,
    pub(super) sold: i64,
}

/// Where pieces lie.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pile {
    Available,
    Reserved,
    Sold,
}

/// Business data in the same database as the ledger.
#[async_trait]
pub(super) trait Shop<Tx>: Send + Sync {
    /// Puts an item on the shelf.
    async fn stock_up(&self, tx: &Tx, item: &str, pieces: i64) -> Result<(), StoreError>;

    /// Moves pieces; `false` if there are too few.
    async fn shift(&self, tx: &Tx, item: &str, from: Pile, to: Pile, pieces: i64)
    -> Result<bool, StoreError>;

    /// Counts.
    async fn stock(&self, tx: &Tx, item: &str) -> Result<Stock, StoreError>;

    /// Ends the transaction's connection, as the death of its process would; nothing if there is none.
    async fn kill(&self, tx: &Tx) -> Result<(), StoreError>;
}

/// An item as the resource of a branch.
pub(super) struct Goods<Tx> {
    pub(super) shop: Arc<dyn Shop<Tx>>,
    pub(super) item: String,
}

impl<Tx: Sync> Goods<Tx> {
    async fn shift(&self, tx: &Tx, from: Pile, to: Pile, call: &BranchCall) -> Result<(), ResourceError> {
        let pieces = call.payload["pieces"].as_i64().ok_or_else(|| ResourceError::refused("no pieces"))?;
        match self.shop.shift(tx, &self.item, from, to, pieces).await? {
            true => Ok(()),
            false => {
                Err(ResourceError::refused(format_args!("fewer than {pieces} of {} {from:?}", self.item)))
            }
        }
    }
}

#[async_trait]
impl<Tx: Send + Sync> Resource<Tx> for Goods<Tx> {
    async fn reserve(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, Pile::Available, Pile::Reserved, call).await
    }

    async fn confirm(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, Pile::Reserved, Pile::Sold, call).await
    }

    async fn release(&self, tx: &Tx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, Pile::Reserved, Pile::Available, call).await
    }
}

/// A table.
pub(super) struct SqlShop {
    control: DatabaseConnection,
}

impl SqlShop {
    pub(super) async fn open(control: DatabaseConnection) -> Self {
        let table = "CREATE TABLE IF NOT EXISTS shop_stock (item VARCHAR(64) NOT NULL PRIMARY KEY, \
                     available BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL)";
        control.execute_unprepared(table).await.expect("a table");
        Self { control }
    }
}

#[async_trait]
impl Shop<DatabaseTransaction> for SqlShop {
    async fn stock_up(&self, tx: &DatabaseTransaction, item: &str, pieces: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO shop_stock (item, available, reserved, sold) VALUES (?, ?, 0, 0)";
        execute(tx, sql, [item.into(), pieces.into()]).await.map(|_| ())
    }

    async fn shift(
        &self,
        tx: &DatabaseTransaction,
        item: &str,
        from: Pile,
        to: Pile,
        pieces: i64,
    ) -> Result<bool, StoreError> {
        let (from, to) = (from.column(), to.column());
        let sql = format!(
            "UPDATE shop_stock SET {from} = {from} - ?, {to} = {to} + ? WHERE item = ? AND {from} >= ?"
        );
        let values = [pieces.into(), pieces.into(), item.into(), pieces.into()];
        Ok(execute(tx, &sql, values).await? == 1)
    }

    async fn stock(&self, tx: &DatabaseTransaction, item: &str) -> Result<Stock, StoreError> {
        let sql = "SELECT available, reserved, sold FROM shop_stock WHERE item = ?";
        let select = Statement::from_sql_and_values(tx.get_database_backend(), sql, [item.into()]);
        let row = tx.query_one_raw(select).await.map_err(store_error)?.expect("an item");
        let (available, reserved, sold) = row.try_get_many_by_index().map_err(store_error)?;
        Ok(Stock { available, reserved, sold })
    }

    async fn kill(&self, tx: &DatabaseTransaction) -> Result<(), StoreError> {
        if tx.get_database_backend() == DbBackend::Sqlite {
            return Ok(());
        }
        let own = Statement::from_string(DbBackend::MySql, "SELECT CAST(CONNECTION_ID() AS SIGNED)");
        let row = tx.query_one_raw(own).await.map_err(store_error)?.expect("a row");
        let id: i64 = row.try_get_by_index(0).map_err(store_error)?;
        self.control.execute_unprepared(&format!("KILL CONNECTION {id}")).await.map_err(store_error)?;
        Ok(())
    }
}

impl Pile {
    fn column(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Reserved => "reserved",
            Self::Sold => "sold",
        }
    }
}

async fn execute<const N: usize>(
    tx: &DatabaseTransaction,
    sql: &str,
    values: [Value; N],
) -> Result<u64, StoreError> {
    let statement = Statement::from_sql_and_values(tx.get_database_backend(), sql, values);
    Ok(tx.execute_raw(statement).await.map_err(store_error)?.rows_affected())
}

fn store_error(error: DbErr) -> StoreError {
    claimstream_sea_orm::store_error("shop", error)
}

/// The reference model has no tables of others; here pieces are counted by a step of the ledger.
pub(super) struct MemoryShop(pub(super) Arc<dyn StepLedger<MemoryTransaction>>);

impl MemoryShop {
    async fn held(&self, tx: &MemoryTransaction, item: &str) -> Result<(StepKey, Step), StoreError> {
        let key = key(item);
        match self.0.begin(tx, &NewStep::new(key.clone(), 0)).await? {
            Begun::Found(step) => Ok((key, step)),
            Begun::New(_) => Err(StoreError::new(StoreErrorKind::Corrupt, "shop", "there is no such item")),
        }
    }
}

#[async_trait]
impl Shop<MemoryTransaction> for MemoryShop {
    async fn stock_up(&self, tx: &MemoryTransaction, item: &str, pieces: i64) -> Result<(), StoreError> {
        let stock = Stock { available: pieces, reserved: 0, sold: 0 };
        self.0.begin(tx, &NewStep::new(key(item), 0).with_result(stock.written())).await?;
        Ok(())
    }

    async fn shift(
        &self,
        tx: &MemoryTransaction,
        item: &str,
        from: Pile,
        to: Pile,
        pieces: i64,
    ) -> Result<bool, StoreError> {
        let (key, step) = self.held(tx, item).await?;
        let mut stock = Stock::read(&step);
        *stock.pile(from) -= pieces;
        *stock.pile(to) += pieces;
        if *stock.pile(from) < 0 {
            return Ok(false);
        }
        let moved = self.0.advance(tx, &key, &step, &StepChange::to(0).with_result(stock.written())).await?;
        Ok(moved.is_some())
    }

    async fn stock(&self, tx: &MemoryTransaction, item: &str) -> Result<Stock, StoreError> {
        Ok(Stock::read(&self.held(tx, item).await?.1))
    }

    async fn kill(&self, _: &MemoryTransaction) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Stock {
    fn pile(&mut self, pile: Pile) -> &mut i64 {
        match pile {
            Pile::Available => &mut self.available,
            Pile::Reserved => &mut self.reserved,
            Pile::Sold => &mut self.sold,
        }
    }

    fn written(self) -> StepResult {
        let text = serde_json::to_vec(&[self.available, self.reserved, self.sold]).expect("numbers");
        StepResult::new(text).expect("a short result")
    }

    fn read(step: &Step) -> Self {
        let text = step.result.as_ref().expect("a result").as_bytes();
        let [available, reserved, sold] = serde_json::from_slice(text).expect("numbers");
        Self { available, reserved, sold }
    }
}

fn key(item: &str) -> StepKey {
    StepKey::new("shop", item, "").expect("a key")
}
